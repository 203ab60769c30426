// One run, or two on one cursor.

import { effect, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { format, parse, placeOf, to } from "../link";
import type { Link } from "../link";
import { painter } from "../map/painter";
import { CallOffPanel } from "../parts/calloff";
import { Drawer } from "../parts/drawer";
import { Later } from "../parts/later";
import { LayerPicker, MapPane } from "../parts/map";
import { MissionPanel } from "../parts/mission";
import { Partings } from "../parts/partings";
import { Plots } from "../parts/plots";
import { Standings } from "../parts/standings";
import { Commands, ExplorerTag, StatusTag } from "../parts/status";
import type { Command } from "../parts/status";
import { Timeline } from "../parts/timeline";
import { WayPanel } from "../parts/way";
import { WhyPanel } from "../parts/why";
import { IconButton } from "../parts/icons";
import { Cursor } from "../run/cursor";
import { RunModel, namesOf } from "../run/model";
import { Scene } from "../run/scene";
import { Show, isGrid } from "../run/show";
import { store, stored } from "../storage";
import { worldOf } from "../words";
import { helping } from "./help";
import { useKeys } from "./keys";

export interface Watching {
  runs: RunModel[];
  cursor: Cursor;
  show: Show;
  scenes: Scene[];
}

function watch(link: Link): Watching {
  painter(); // it starts while the runs are asked for
  const runs = link.runs.map((id) => new RunModel(id));
  const cursor = new Cursor(runs, link.step, link.started ?? false);
  const show = new Show(link, runs);
  const scenes = runs.map((run, i) => new Scene(run, cursor, show, i));
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
        port: show.ports[0].value,
        other: show.apart.value ? show.ports[1].value : null,
      });
      window.clearTimeout(waiting);
      waiting = window.setTimeout(() => {
        // A link that was followed a moment ago names another view: keep it.
        if (placeOf(parse(location.hash)) === placeOf(link)) history.replaceState(null, "", now);
      }, 250);
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
  const side = useRef<HTMLDivElement>(null);
  const wide = useSignal(false); // whether the map alone fills the window
  useEffect(
    () =>
      effect(() => {
        if (scene?.selected.value != null) side.current?.scrollTo(0, 0); // to its way home
      }),
    [scene],
  );
  if (!run || !scene) return null;
  const details = run.details.value;
  if (run.missing.value) {
    return (
      <main class="missing stack" id="main">
        <Missing text={run.missing.value} alone />
      </main>
    );
  }
  return (
    <main class={wide.value ? "watch one wide" : "watch one"} id="main">
      <div class="stage">
        <RunHead run={run} cursor={cursor} alone>
          {details && (
            <button
              class="small"
              onClick={() => {
                wide.value = false;
                window.setTimeout(openDrawer); // once its column is on view
              }}
            >
              Files and certificate
            </button>
          )}
          <button
            class="small"
            aria-pressed={wide.value}
            onClick={() => (wide.value = !wide.value)}
          >
            Map only
          </button>
        </RunHead>
        {details && <FirstVisit grid={isGrid(details)} />}
        {details && details.layers.length > 0 && <LayerPicker details={details} show={show} />}
        <MapPane scene={scene} label={details ? details.id : "the run"} />
        <Timeline cursor={cursor} scenes={scenes} />
      </div>
      <div class="side" ref={side} hidden={wide.value}>
        {details?.status === "waiting" && !details.error && <MissionPanel scene={scene} />}
        <Reasons scene={scene} />
        {details && (
          <Later>
            {details.layers.length > 0 && <CallOffPanel scene={scene} />}
            <Drawer scene={scene} details={details} />
            {scene.begun.value && <Plots cursor={cursor} />}
          </Later>
        )}
      </div>
    </main>
  );
}

/** Unfold settings, files and certificate, and bring them on view. */
function openDrawer(): void {
  const drawer = document.querySelector<HTMLDetailsElement>(".drawer");
  if (!drawer) return;
  drawer.open = true;
  drawer.scrollIntoView({ block: "start" });
  drawer.querySelector("summary")?.focus({ preventScroll: true });
}

export function ComparePage({ link }: { link: Link }) {
  const { runs, cursor, show, scenes } = useWatching(link);
  const details = runs.find((run) => run.details.value?.layers.length)?.details.value ?? null;
  const names = namesOf(runs);
  return (
    <main class="watch two" id="main">
      <h1 class="hidden">Comparison of {link.runs.join(", ")}</h1>
      {details && <FirstVisit grid={isGrid(details)} />}
      {details && <LayerPicker details={details} show={show} />}
      <Partings scenes={scenes} cursor={cursor} />
      <Standings runs={runs} />
      <div class={`pair of-${scenes.length}`}>
        {scenes.map((scene, i) => (
          <div class="stage" key={scene.run.id + String(i)} data-run={scene.run.id}>
            <RunHead run={scene.run} cursor={cursor} alone={false} />
            {scene.run.missing.value ? (
              <section class="missing stack">
                <Missing text={scene.run.missing.value} alone={false} />
              </section>
            ) : (
              <MapPane
                scene={scene}
                dated
                label={scene.run.details.value ? scene.run.details.value.id : "the run"}
              />
            )}
          </div>
        ))}
      </div>
      <Timeline cursor={cursor} scenes={scenes} />
      <div class="below">
        {scenes.map((scene, i) => (
          <div class="stack" key={scene.run.id + String(i)}>
            <Reasons scene={scene} who={names[i] ?? ""} />
          </div>
        ))}
        {details && scenes.every((scene) => scene.begun.value) && <Plots cursor={cursor} />}
      </div>
    </main>
  );
}

/** The reasons and, before them once a cell is chosen, its way home, so that it is in sight. */
function Reasons({ scene, who = "" }: { scene: Scene; who?: string }) {
  const way = <WayPanel key="way" scene={scene} />;
  const why = <WhyPanel key="why" scene={scene} who={who} />;
  return <>{scene.selected.value === null ? [why, way] : [way, why]}</>;
}

function Missing({ text, alone }: { text: string; alone: boolean }) {
  const title = "This run can't be shown";
  return (
    <>
      {alone ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p>{text}</p>
      <a class="button" href={to("runs")}>
        All runs
      </a>
    </>
  );
}

interface RunHeadProps {
  run: RunModel;
  cursor: Cursor;
  alone: boolean; // whether the page is about this run only
  children?: ComponentChildren;
}

function RunHead({ run, cursor, alone, children }: RunHeadProps) {
  const details = run.details.value;
  const step = cursor.linked;
  const moment = step === null ? "" : `?step=${step}`; // of a link to another view of the run
  const name = alone ? (
    <h1>{run.id}</h1>
  ) : (
    <h2>{details ? <a href={to("run", run.id) + moment}>{run.id}</a> : run.id}</h2>
  );
  if (!details) {
    return (
      <header class="run-head row">
        {name}
      </header>
    );
  }
  const act = async (what: Command): Promise<void> => {
    if (what === "delete") return;
    await run.command(what);
    if (what === "resume" && run.going.value) cursor.setFollow(true);
  };
  const other = details.pair ?? null;
  const gone = run.gone.value;
  return (
    <header class="run-head row">
      {name}
      <ExplorerTag run={details} />
      {gone ? <span class="tag status damaged">deleted</span> : <StatusTag run={details} />}
      <span class="unit">{worldOf(details)}</span>
      <span class="grow" />
      {alone && other && !gone && (
        <a
          class="button small"
          href={
            to("compare", ...(details.explorer === "safe" ? [details.id, other] : [other, details.id])) + moment
          }
        >
          Compare with its pair
        </a>
      )}
      {details.trapped !== null && (
        <span class="tag status trapped">trapped at step {details.trapped}</span>
      )}
      {!gone && <Commands run={details} act={act} without={["delete"]} />}
      {children}
      {details.error && details.status === "failed" && (
        <p class="ended fine">The run failed: {details.error}</p>
      )}
      {details.error && details.status === "damaged" && (
        <p class="ended fine">This run is damaged: {details.error}.</p>
      )}
    </header>
  );
}

const SEEN = "homeward.visited";

/** A short explanation of the map for a first visit; once closed, it stays closed. */
function FirstVisit({ grid }: { grid: boolean }) {
  const open = useSignal(stored(SEEN) === null);
  if (!open.value) return null;
  return (
    <p class="first fine">
      <span>
        <b>Grey: not yet seen.</b> Dark line: the path. Blue dot: the explorer.{" "}
        {grid
          ? "It can drop any depth but climb only one height at a time"
          : "It descends steeper slopes than it can climb"}
        , so not every move can be undone. Dashed line: the way home. Under “Why this move?”,{" "}
        <b>s</b> is the proven probability of a way home.{" "}
        <button class="link" onClick={() => (helping.value = true)}>
          Glossary
        </button>
      </span>
      <IconButton
        icon="close"
        label="Close this explanation"
        onClick={() => {
          open.value = false;
          store(SEEN, "1");
        }}
      />
    </p>
  );
}
