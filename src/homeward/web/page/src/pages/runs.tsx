// The list of runs: pairs together, with thumbnails, outcomes and commands; sorted, filtered, in pages.

import { effect, signal, useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { API, change, getJson, runUrl } from "../api";
import type { RunList, Summary } from "../api";
import { MAX_COMPARED, to } from "../link";
import { painter } from "../map/painter";
import { attempt, complain, found, lost, tell } from "../messages";
import { Thumbnail, glanceAt, glances } from "../parts/glance";
import { Commands, ExplorerTag, StatusTag } from "../parts/status";
import type { Command } from "../parts/status";
import { percent } from "../player/player";
import { onList } from "../run/listing";
import { ago, worldOf } from "../words";

type Sort = "name" | "steps" | "outcome";

const list = signal<RunList | null>(null);
const MANY = 6; // rows from which on one may look for some of them
const PAGE = 20; // rows on a page

/** Columns: their heads, and by what the server sorts. Heads with a capital are for screen readers. */
const COLUMNS: { head: string; sort?: Sort }[] = [
  { head: "Select" },
  { head: "Picture" },
  { head: "run", sort: "name" },
  { head: "explorer" },
  { head: "world" },
  { head: "steps", sort: "steps" },
  { head: "seen" },
  { head: "outcome", sort: "outcome" },
  { head: "Actions" },
];

/** What of the list is asked for. */
const asked = {
  word: signal(""),
  outcome: signal(""),
  page: signal(0),
  sort: signal<{ by: Sort; order: "asc" | "desc" } | null>(null),
};
const ever = signal<string[]>([]); // states that were seen in the list, to select by

function query(): string {
  const { word, outcome, page, sort } = asked;
  const said = new URLSearchParams({ limit: String(PAGE), offset: String(PAGE * page.value) });
  if (word.value.trim()) said.set("name", word.value.trim());
  if (outcome.value) said.set("outcome", outcome.value);
  if (sort.value) said.set("sort", sort.value.by);
  if (sort.value) said.set("order", sort.value.order);
  return said.toString();
}

let latest = 0;

async function refresh(): Promise<void> {
  const ticket = ++latest;
  try {
    const found = await getJson<RunList>(`${API}/runs?${query()}`);
    if (ticket !== latest) return;
    list.value = found;
    const states = found.runs.flatMap((run) => [run.status, ...(run.trapped === null ? [] : ["trapped"])]);
    if (states.some((state) => !ever.value.includes(state)))
      ever.value = [...new Set([...ever.value, ...states])].sort();
    if (!found.runs.length && found.total) asked.page.value = Math.ceil(found.total / PAGE) - 1;
  } catch (cause) {
    complain(cause);
  }
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
        void query();
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

/** Return rows: the two runs of a pair stand side by side. */
function rowsOf(runs: Summary[]): Summary[][] {
  const rows: Summary[][] = [];
  for (const run of runs) {
    const before = rows[rows.length - 1];
    if (before?.length === 1 && before[0]?.pair === run.id) before.push(run);
    else rows.push([run]);
  }
  return rows;
}

async function act(run: Summary, what: Command): Promise<void> {
  if (what === "delete") {
    if (!window.confirm(`Delete the run ${run.id} and its record? This can't be undone.`))
      return;
    if (await remove(run.id)) tell(`${run.id} is deleted.`);
  } else await attempt(() => change("POST", runUrl(run.id, `/${what}`)));
  await refresh();
}

async function remove(id: string): Promise<boolean> {
  const gone = await attempt(async () => {
    await change("DELETE", runUrl(id));
    return true;
  });
  if (gone) painter().forget(id);
  return gone === true;
}

async function removeAll(chosen: Signal<string[]>): Promise<void> {
  const ids = chosen.value;
  const what = ids.length === 1 ? `the run ${ids[0]}` : `${ids.length} runs`;
  if (!window.confirm(`Delete ${what} with all records? This can't be undone.`)) return;
  const left: string[] = [];
  for (const id of ids) if (!(await remove(id))) left.push(id);
  chosen.value = left;
  if (!left.length) tell(ids.length === 1 ? `${ids[0]} is deleted.` : `${ids.length} runs are deleted.`);
  await refresh();
}

export function RunsList() {
  useRuns();
  const chosen = useSignal<string[]>([]);
  const { word, outcome, page } = asked;
  const found = list.value;
  const runs = found?.runs ?? [];
  const sought = word.value.trim() !== "" || outcome.value !== "";
  const many = sought || (found?.total ?? 0) > MANY;
  const rows = rowsOf(runs);
  const pages = Math.max(1, Math.ceil((found?.total ?? 0) / PAGE));
  const at = Math.min(page.value, pages - 1);
  useEffect(() => runs.forEach(glanceAt), [runs]);
  const there = chosen.value;
  return (
    <section class="card" aria-label="Runs">
      <header class="row">
        <h2>Your runs</h2>
        <span class="grow" />
        {there.length === 0 && runs.length > 1 && (
          <span class="unit">Select runs to compare or delete them.</span>
        )}
        {there.length > 1 && there.length <= MAX_COMPARED && (
          <a class="button small main" href={to("compare", ...inOrder(there))}>
            {there.length === 2 ? "Compare the two" : `Compare the ${there.length}`}
          </a>
        )}
        {there.length > MAX_COMPARED && (
          <span class="unit">At most {MAX_COMPARED} runs can be compared.</span>
        )}
        {there.length > 0 && (
          <button class="small" onClick={() => void removeAll(chosen)}>
            Delete {there.length === 1 ? "it" : `the ${there.length}`}
          </button>
        )}
      </header>
      {lost.value && (
        <p class="ended fine">
          The server does not answer{found ? "; the list may be out of date" : ""}.
        </p>
      )}
      {many && (
        <p class="sieve row fine">
          <label class="row">
            <span>Show runs named</span>
            <input
              type="search"
              value={word.value}
              onInput={(event) => {
                word.value = event.currentTarget.value;
                page.value = 0;
              }}
            />
          </label>
          <label class="row">
            <span>that are</span>
            <select
              value={outcome.value}
              onChange={(event) => {
                outcome.value = event.currentTarget.value;
                page.value = 0;
              }}
            >
              <option value="">in any state</option>
              {ever.value.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
          <span class="unit" role="status">
            {sought && `${found?.total ?? 0} found`}
          </span>
        </p>
      )}
      {found === null && !lost.value && <p class="soft">Loading the runs…</p>}
      {found?.total === 0 && !sought && (
        <p class="soft">There are no runs yet. Draw a world, or start a new run.</p>
      )}
      {rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="List of runs">
          <table class="runs-table">
            <thead>
              <tr>
                {COLUMNS.map(({ head, sort: by }) => (
                  <Head key={head} head={head} by={by ?? null} />
                ))}
              </tr>
            </thead>
            {rows.map((group) => (
              <tbody key={group[0]?.id} class={group.length > 1 ? "pair-rows" : ""}>
                {group.map((run, i) => (
                  <Row key={run.id} run={run} chosen={chosen} pair={i === 0 ? group[1] : null} />
                ))}
              </tbody>
            ))}
          </table>
        </div>
      )}
      {pages > 1 && (
        <nav class="pages row fine" aria-label="Pages of the list">
          <button class="small" disabled={at === 0} onClick={() => (page.value = at - 1)}>
            Previous
          </button>
          <span role="status">
            page {at + 1} of {pages}
          </span>
          <button class="small" disabled={at >= pages - 1} onClick={() => (page.value = at + 1)}>
            Next
          </button>
        </nav>
      )}
    </section>
  );
}

/** The head of a column; a click sorts by it, a second one the other way round, a third by age. */
function Head({ head, by }: { head: string; by: Sort | null }) {
  const { sort, page } = asked;
  const on = sort.value?.by === by && by !== null;
  const first = by === "steps" ? "desc" : "asc";
  const turn = (): void => {
    if (by === null) return;
    page.value = 0;
    if (!on) sort.value = { by, order: first };
    else if (sort.value?.order === first) sort.value = { by, order: first === "asc" ? "desc" : "asc" };
    else sort.value = null;
  };
  const down = sort.value?.order === "desc";
  return (
    <th
      scope="col"
      class={head === "steps" || head === "seen" ? "right" : ""}
      aria-sort={on ? (down ? "descending" : "ascending") : undefined}
    >
      {by ? (
        <button class="head" onClick={turn}>
          {head}
          <i aria-hidden="true">{on ? (down ? "▾" : "▴") : ""}</i>
        </button>
      ) : (
        <span class={/^[A-Z]/.test(head) ? "hidden" : ""}>{head}</span>
      )}
    </th>
  );
}

function Row(props: { run: Summary; chosen: Signal<string[]>; pair: Summary | null | undefined }) {
  const { run, chosen, pair } = props;
  const pick = (on: boolean): void => {
    const others = chosen.value.filter((each) => each !== run.id);
    chosen.value = on ? [...others, run.id] : others;
  };
  const glance = glances.value.get(run.id);
  const share = run.seen ?? glance?.share ?? null;
  const trapped = run.trapped ?? glance?.trapped ?? null;
  const outcome = trapped === null ? (run.why ?? wrongOf(run)) : "No way home was left from then on.";
  return (
    <tr data-run={run.id}>
      <td>
        <input
          type="checkbox"
          checked={chosen.value.includes(run.id)}
          aria-label={`Select ${run.id}`}
          onChange={(event) => pick(event.currentTarget.checked)}
        />
      </td>
      <td class="picture">
        <Thumbnail run={run.id} />
      </td>
      <th scope="row">
        {run.kind === null ? run.id : <a href={to("run", run.id)}>{run.id}</a>}
        <span class="unit block">
          {ago(run.updated ?? run.created)}
          {pair && (
            <>
              {", "}
              <a href={to("compare", run.id, pair.id)}>compare with {pair.id}</a>
            </>
          )}
        </span>
      </th>
      <td>
        <ExplorerTag run={run} />
      </td>
      <td>{worldOf(run, true)}</td>
      <td class="right num steps">{run.kind !== null && run.steps}</td>
      <td class="right num seen">{share !== null && percent(share)}</td>
      <td>
        {trapped !== null ? (
          <span class="tag status trapped">trapped at step {trapped}</span>
        ) : (
          <StatusTag run={run} />
        )}
        {outcome && <span class="unit block">{outcome}</span>}
      </td>
      <td class="right">
        <Commands run={run} act={(what) => act(run, what)} />
      </td>
    </tr>
  );
}

/** Return the error of a run that can't be read. */
function wrongOf(run: Summary): string {
  const wrong = run.status === "damaged" || run.status === "newer";
  return wrong ? (run.error ?? "") : "";
}

/** Put the safe ones on the left. */
function inOrder(ids: string[]): string[] {
  const safe = (id: string): boolean =>
    list.value?.runs.find((run) => run.id === id)?.explorer === "safe";
  return [...ids].sort((a, b) => Number(safe(b)) - Number(safe(a)));
}
