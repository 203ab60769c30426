// What compared runs came to: one row for each, with a link to it; the one that learned most is marked.

import { useEffect } from "preact/hooks";
import { linkTo, runUrl } from "../api";
import type { Details } from "../api";
import { to } from "../link";
import { percent } from "../player/player";
import { namesOf } from "../run/model";
import type { RunModel } from "../run/model";
import { loadSchemas, titled } from "../run/schema";
import { beside, figure, hasLevel, levelName } from "../words";
import { glanceAt, glances } from "./glance";
import { StatusTag } from "./status";

interface Standing {
  id: string;
  name: string;
  details: Details;
  steps: number;
  seen: number | null; // share of the map; null while the run goes on
  nats: number | null; // that were learned; null on grids
  lowest: number | null; // the lowest proven probability of a way home over all steps
  trapped: number | null;
}

function standingsOf(runs: readonly RunModel[]): Standing[] {
  const names = namesOf(runs);
  return runs.flatMap((run, i) => {
    const details = run.details.value;
    if (!details) return [];
    const glance = glances.value.get(run.id);
    const { known, count, bound, criteria } = run.columns.value;
    const home = details.criteria.findIndex(({ kind }) => kind === "return");
    const bounds = bound.filter((_, n) => n % criteria === home);
    return {
      id: run.id,
      name: names[i] ?? run.id,
      details,
      steps: count,
      seen: details.live ? null : (details.seen ?? glance?.share ?? null),
      nats: details.kind === "grid" ? null : (known?.[known.length - 1] ?? null),
      lowest: home < 0 || !bounds.length ? null : bounds.reduce((least, each) => Math.min(least, each)),
      trapped: details.trapped ?? glance?.trapped ?? null,
    };
  });
}

const WORLD_SETTINGS = ["seed", "terrain", "terrain_seed", "map"];

/** Return a sentence about the settings in which the runs differ: whether the comparison is fair. */
function differenceWord(standings: Standing[]): string {
  const kinds = new Set(standings.map(({ details }) => details.kind));
  if (kinds.size > 1) return "The runs are of different kinds, so their worlds differ.";
  const configs = standings.map(({ details }) => details.config);
  const names = [...new Set(configs.flatMap((config) => Object.keys(config)))];
  const values = (name: string): Set<string> =>
    new Set(configs.map((config) => JSON.stringify(config[name] ?? null)));
  const differing = names.filter((name) => values(name).size > 1);
  if (!differing.length) return "All settings are equal.";
  const kind = standings[0]?.details.kind ?? null;
  const labels = differing.map((name) => titled(kind, name).label).join(", ");
  const one = differing.some((name) => WORLD_SETTINGS.includes(name))
    ? ""
    : " It is one world; other seeds may give another order.";
  return `Settings that differ: ${labels}. All others are equal.${one}`;
}

/** Return which of the runs learned most without being trapped; null while one goes on, or if none did. */
function bestOf(standings: Standing[]): Standing | null {
  const what = standings.every(({ nats }) => nats !== null) ? "nats" : "seen";
  if (standings.some((each) => each.details.live || each[what] === null)) return null;
  const free = standings.filter(({ trapped }) => trapped === null);
  const most = Math.max(...free.map((each) => each[what] as number));
  const first = free.filter((each) => each[what] === most);
  return first.length === 1 ? (first[0] ?? null) : null;
}

export function Standings({ runs }: { runs: readonly RunModel[] }) {
  const standings = standingsOf(runs);
  useEffect(() => standings.forEach(({ details }) => glanceAt(details)));
  useEffect(loadSchemas, []);
  if (!standings.length) return null;
  const loaded = runs.every((run) => run.details.value ?? run.missing.value);
  const best = loaded && standings.length > 1 ? bestOf(standings) : null;
  const nats = standings.some((each) => each.nats !== null);
  const live = standings.some(({ details }) => details.live);
  const [first, ...others] = standings.map(({ id }) => id);
  return (
    <>
      <p class="fine soft">
        {live ? "So far, whatever the step shown below." : "At the end, whatever the step shown below."}{" "}
        {standings.length > 1 && differenceWord(standings)}{" "}
        {!live && standings.every(({ details }) => details.shape) && (
          <a download href={linkTo(runUrl(first ?? "", `/play.html?beside=${others.join(",")}`))}>
            Save as a page that plays offline (HTML)
          </a>
        )}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="The runs in numbers">
        <table class="standings fine">
          <thead>
            <tr>
              <th scope="col">run</th>
              <th scope="col">δ</th>
              <th scope="col" class="right">seen</th>
              {nats && <th scope="col" class="right">nats</th>}
              <th scope="col" class="right">steps</th>
              <th scope="col" class="right" title="Lowest proven probability of a way home over all steps">
                way home ≥
              </th>
              <th scope="col">outcome</th>
            </tr>
          </thead>
          <tbody>
            {standings.map((each, i) => (
              <tr key={i} data-standing={each.id} class={each === best ? "best" : ""}>
                <th scope="row">
                  <a href={to("run", each.id)}>{each.name}</a>
                  {each.name !== each.id && <span class="unit"> {each.id}</span>}
                </th>
                <td>{hasLevel(each.details) ? levelName(each.details.delta ?? 0) : "unsafe"}</td>
                <td class="right num">{each.seen === null ? "–" : percent(each.seen)}</td>
                {nats && <td class="right num">{figure(each.nats)}</td>}
                <td class="right num">{each.steps}</td>
                <td class="right num">
                  {each.lowest === null ? "–" : beside(each.lowest, each.details.delta)}
                </td>
                <td>
                  {each.trapped === null ? (
                    <StatusTag run={each.details} />
                  ) : (
                    <span class="tag status trapped">trapped at step {each.trapped}</span>
                  )}
                  {each === best && (
                    <span class="tag safe" title="Among the runs that were not trapped, whatever their δ.">
                      learned most
                    </span>
                  )}
                  <span class="unit">
                    {" "}
                    {each.trapped === null ? each.details.why : "No way home was left from then on."}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
