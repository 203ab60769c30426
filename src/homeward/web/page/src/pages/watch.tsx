// One run, or two on one cursor.

import { effect, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { format, to } from "../link";
import type { Link } from "../link";
import { LayerPicker, MapPane } from "../parts/map";
import { Plots } from "../parts/plots";
import { Commands, ExplorerTag, StatusTag } from "../parts/status";
import type { Command } from "../parts/status";
import { Timeline } from "../parts/timeline";
import { WayPanel } from "../parts/way";
import { WhyPanel } from "../parts/why";
import { Icon } from "../parts/icons";
import { Cursor } from "../run/cursor";
import { RunModel } from "../run/model";
import { Scene } from "../run/scene";
import { Show, isGrid } from "../run/show";
import { explorerName, titleOf, worldOf } from "../words";
import { helping } from "./help";
import { useKeys } from "./keys";

export interface Watching {
  runs: RunModel[];
  cursor: Cursor;
  show: Show;
  scenes: Scene[];
}

function watch(link: Link): Watching {
  const runs = link.runs.map((id) => new RunModel(id));
  const cursor = new Cursor(runs, link.step);
  const show = new Show(link);
  const scenes = runs.map((run) => new Scene(run, cursor, show));
  return { runs, cursor, show, scenes };
}

function useWatching(link: Link): Watching {
  const watching = useMemo(() => watch(link), [link]);
  useEffect(() => {
    let waiting = 0;
    const stop = effect(() => {
      const { cursor, show } = watching;
      const now = format({
        page: link.page,
        runs: link.runs,
        step: cursor.linked,
        layer: show.layer.value === "height" ? null : show.layer.value,
        over: show.over.value,
        mix: show.mix.value,
        port: show.port.value,
      });
      window.clearTimeout(waiting);
      waiting = window.setTimeout(() => history.replaceState(null, "", now), 250);
    });
    return () => {
      stop();
      window.clearTimeout(waiting);
      watching.scenes.forEach((scene) => scene.close());
      watching.cursor.close();
      watching.runs.forEach((run) => run.close());
    };
  }, [watching]);
  useKeys(watching);
  return watching;
}

export function RunPage({ link }: { link: Link }) {
  const { runs, cursor, show, scenes } = useWatching(link);
  const [run] = runs;
  const [scene] = scenes;
  if (!run || !scene) return null;
  const details = run.details.value;
  if (run.missing.value && !details?.layers?.length) return <Missing text={run.missing.value} />;
  return (
    <main class="watch one" id="main">
      <div class="stage">
        <RunHead run={run} alone />
        {details && <FirstVisit grid={isGrid(details)} />}
        {details && details.layers.length > 0 && <LayerPicker details={details} show={show} />}
        <MapPane scene={scene} label={details ? titleOf(details) : "the run"} />
        <Timeline cursor={cursor} />
      </div>
      <div class="side">
        <WhyPanel scene={scene} />
        <WayPanel scene={scene} />
        {details && <Plots cursor={cursor} />}
      </div>
    </main>
  );
}

export function ComparePage({ link }: { link: Link }) {
  const { runs, cursor, show, scenes } = useWatching(link);
  const details = runs.find((run) => run.details.value?.layers.length)?.details.value ?? null;
  return (
    <main class="watch two" id="main">
      {details && <FirstVisit grid={isGrid(details)} />}
      {details && <LayerPicker details={details} show={show} />}
      <div class="pair">
        {scenes.map((scene, i) => (
          <div class="stage" key={scene.run.id + String(i)} data-run={scene.run.id}>
            <RunHead run={scene.run} alone={false} />
            {scene.run.missing.value ? (
              <Missing text={scene.run.missing.value} />
            ) : (
              <MapPane
                scene={scene}
                label={scene.run.details.value ? titleOf(scene.run.details.value) : "the run"}
              />
            )}
          </div>
        ))}
      </div>
      <Timeline cursor={cursor} />
      <div class="below">
        {scenes.map((scene, i) => (
          <div key={scene.run.id + String(i)}>
            <WhyPanel
              scene={scene}
              who={explorerName(scene.run.details.value?.explorer ?? null)}
            />
            <WayPanel scene={scene} />
          </div>
        ))}
        {details && <Plots cursor={cursor} />}
      </div>
    </main>
  );
}

function Missing({ text }: { text: string }) {
  return (
    <main class="missing" id="main">
      <h1>This run can't be shown</h1>
      <p>{text}</p>
      <a class="button" href={to("runs")}>
        All runs
      </a>
    </main>
  );
}

function RunHead({ run, alone }: { run: RunModel; alone: boolean }) {
  const details = run.details.value;
  if (!details) {
    return (
      <header class="run-head">
        <h1>{run.id}</h1>
      </header>
    );
  }
  const act = (what: Command): void => {
    if (what !== "delete") void run.command(what);
  };
  const other = details.pair ?? null;
  return (
    <header class="run-head">
      <h1>{titleOf(details)}</h1>
      <ExplorerTag run={details} />
      <StatusTag run={details} />
      <span class="unit">{worldOf(details)}</span>
      <span class="grow" />
      {alone && other && (
        <a
          class="button small"
          href={to(
            "compare",
            ...(details.explorer === "safe" ? [details.id, other] : [other, details.id]),
          )}
        >
          Compare with its pair
        </a>
      )}
      <Commands run={details} act={act} without={["delete"]} />
      {details.error && details.status === "failed" && (
        <p class="ended">It failed: {details.error.trim().split("\n").pop()}</p>
      )}
    </header>
  );
}

const SEEN = "homeward.visited";

/** One line that says what one sees; put away for good when it is closed. */
function FirstVisit({ grid }: { grid: boolean }) {
  const open = useSignal(!stored());
  if (!open.value) return null;
  return (
    <p class="first">
      <span>
        <b>Grey: not yet seen.</b> Dark line: the path. Blue dot: the explorer.{" "}
        {grid
          ? "It drops any depth but climbs one height at a time"
          : "It descends steeper slopes than it climbs"}
        , so not every move can be undone. Dashed: the way home that it keeps. Under “Why this
        move?”, <b>s</b> is how surely there is a way home; it must not fall below δ.{" "}
        <button class="link" onClick={() => (helping.value = true)}>
          What the words mean
        </button>
      </span>
      <button
        class="quiet"
        aria-label="Put this explanation away"
        onClick={() => {
          open.value = false;
          try {
            localStorage.setItem(SEEN, "1");
          } catch {
            // it comes back next time
          }
        }}
      >
        <Icon name="close" />
      </button>
    </p>
  );
}

function stored(): boolean {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return false;
  }
}
