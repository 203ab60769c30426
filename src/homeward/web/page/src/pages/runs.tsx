// The list of runs with their status and commands.

import { effect, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { change, getJson, runUrl } from "../api";
import type { Summary } from "../api";
import { to } from "../link";
import { painter } from "../map/painter";
import { attempt, complain, found, lost, tell } from "../messages";
import { Commands, ExplorerTag, StatusTag } from "../parts/status";
import type { Command } from "../parts/status";
import { onList } from "../run/listing";
import { ago, worldOf } from "../words";

const runs = signal<Summary[] | null>(null);
const MANY = 10; // runs from which on one may look for some by name

/** Heads of the columns; those with a capital are only for screen readers. */
const HEADS = ["Compare", "run", "explorer", "world", "steps", "status", "Actions"];

function refresh(): Promise<void> {
  return getJson<{ runs: Summary[] }>("/api/runs")
    .then((found) => void (runs.value = paired(found.runs)))
    .catch(complain);
}

/** Put the two runs of a pair next to each other, the safe one first, where the newer of them is. */
function paired(list: Summary[]): Summary[] {
  const named = new Map(list.map((run) => [run.id, run]));
  const order = list.flatMap((run) => {
    const other = named.get(run.pair ?? "");
    if (!other) return [run];
    return run.explorer === "safe" || other.explorer !== "safe" ? [run, other] : [other, run];
  });
  return [...new Set(order)];
}

function useRuns(): void {
  useEffect(() => {
    let waiting = 0;
    const later = (): void => {
      window.clearTimeout(waiting);
      waiting = window.setTimeout(() => void refresh(), 150);
    };
    const stops = [
      effect(() => {
        void found.value; // at first, and when the server is there again
        void refresh();
      }),
      onList(later),
    ];
    return () => {
      stops.forEach((stop) => stop());
      window.clearTimeout(waiting);
    };
  }, []);
}

async function act(run: Summary, what: Command): Promise<void> {
  if (what === "delete") {
    if (!window.confirm(`Delete the run ${run.id} and its record? This can't be undone.`))
      return;
    const gone = await attempt(async () => {
      await change("DELETE", runUrl(run.id));
      return true;
    });
    if (gone) {
      painter().forget(run.id);
      tell(`${run.id} is deleted.`);
    }
  } else await attempt(() => change("POST", runUrl(run.id, `/${what}`)));
  await refresh();
}

export function RunsPage() {
  useRuns();
  const chosen = useSignal<string[]>([]);
  const word = useSignal("");
  const list = runs.value;
  const many = list !== null && list.length > MANY;
  const looked = many ? word.value.trim().toLowerCase() : "";
  const shown = list?.filter((run) => run.id.toLowerCase().includes(looked)) ?? [];
  const pick = (id: string, on: boolean): void => {
    const others = chosen.value.filter((each) => each !== id);
    chosen.value = on ? [...others.slice(-1), id] : others;
  };
  return (
    <main class="list" id="main">
      <div class="hero stack">
        <h1>Watch an explorer decide, and see why.</h1>
        <p>
          A world is only partly known. The safe explorer goes where it learns most and keeps a way
          home with a probability that you set. The unsafe one does not, and may never come back.
          Open a run to watch it step by step, or run both explorers in a world of your own.
        </p>
        <p class="row">
          <a class="button main" href={to("draw")}>
            Draw a world
          </a>
          <a class="button" href={to("new")}>
            New run
          </a>
          <a class="button" href={to("stories")}>
            Three counter-examples
          </a>
        </p>
      </div>
      <section class="card" aria-label="Runs">
        <header>
          <h2>Runs</h2>
          <span class="grow" />
          {chosen.value.length === 2 ? (
            <a class="button small main" href={to("compare", ...inOrder(chosen.value))}>
              Compare the two
            </a>
          ) : (
            list && list.length > 1 && <span class="unit">Select two to compare them.</span>
          )}
        </header>
        {lost.value && (
          <p class="ended fine">
            The server does not answer{list ? "; the list may be out of date" : ""}.
          </p>
        )}
        {many && (
          <p class="sieve row fine">
            <label class="row">
              <span>Show runs named</span>
              <input
                type="search"
                value={word.value}
                onInput={(event) => (word.value = event.currentTarget.value)}
              />
            </label>
            <span class="unit" role="status">
              {looked && `${shown.length} of ${list.length} runs`}
            </span>
          </p>
        )}
        {list === null && !lost.value && <p class="soft">Loading the runs…</p>}
        {list?.length === 0 && (
          <p class="soft">There are no runs yet. Draw a world, or start a new run.</p>
        )}
        {shown.length > 0 && (
          <div class="scroll" tabIndex={0} role="region" aria-label="List of runs">
            <table class="runs-table">
              <thead>
                <tr>
                  {HEADS.map((head) => (
                    <th scope="col" key={head} class={head === "steps" ? "right" : ""}>
                      <span class={/^[A-Z]/.test(head) ? "hidden" : ""}>{head}</span>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {shown.map((run) => (
                  <tr key={run.id} data-run={run.id}>
                    <td>
                      <input
                        type="checkbox"
                        disabled={run.kind === null}
                        checked={chosen.value.includes(run.id)}
                        aria-label={`Compare ${run.id}`}
                        onChange={(event) => pick(run.id, event.currentTarget.checked)}
                      />
                    </td>
                    <th scope="row">
                      {run.kind === null ? (
                        run.id
                      ) : (
                        <a href={to("run", run.id)}>{run.id}</a>
                      )}
                      <span class="unit block">
                        {ago(run.updated ?? run.created)}
                        {run.pair && run.explorer === "safe" && (
                          <>
                            {", "}
                            <a href={to("compare", run.id, run.pair)}>compare with {run.pair}</a>
                          </>
                        )}
                      </span>
                    </th>
                    <td>
                      <ExplorerTag run={run} />
                    </td>
                    <td>{worldOf(run)}</td>
                    <td class="right num">{run.kind !== null && run.steps}</td>
                    <td>
                      <StatusTag run={run} />
                      {(run.why || wrongOf(run)) && (
                        <span class="unit block">{run.why ?? wrongOf(run)}</span>
                      )}
                    </td>
                    <td class="right">
                      <Commands run={run} act={(what) => act(run, what)} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </main>
  );
}

/** Return the error of a run that can't be read. */
function wrongOf(run: Summary): string {
  const wrong = run.status === "damaged" || run.status === "newer";
  return wrong ? (run.error ?? "") : "";
}

/** Put the safe one on the left. */
function inOrder(ids: string[]): string[] {
  const safe = (id: string): boolean =>
    runs.value?.find((run) => run.id === id)?.explorer === "safe";
  return [...ids].sort((a, b) => Number(safe(b)) - Number(safe(a)));
}
