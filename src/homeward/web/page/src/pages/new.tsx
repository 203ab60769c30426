// A new run: a world, an explorer, and what must stay true.

import { useSignal } from "@preact/signals";
import { change as post } from "../api";
import type { Summary } from "../api";
import { to } from "../link";
import { attempt, complain } from "../messages";
import { Check, Choice, Field, unfold } from "../parts/fields";
import * as ground from "./new/ground";
import { Promises } from "./new/promises";
import { nameOf, wrongPart } from "./new/reading";
import * as settings from "./new/settings";
import { GridFields, TerrainFields } from "./new/terrain";
import { missing } from "./new/uploader";

/** Give the cell of the start, on the ground as it is set now; false where there is none such. */
async function startGiven(): Promise<[number, number] | null | false> {
  const query = settings.query.value;
  if (settings.kind.value !== "rover" || !ground.startRow.value.trim()) return null;
  if (ground.ground.value?.query !== query) {
    const now = await attempt(() => ground.groundOf(query));
    if (!now) return false;
    ground.settle(now);
  }
  const [on, point] = [ground.ground.value, ground.place.value];
  const cell = on && point && ground.cellAt(on, point);
  if (!cell) complain(ground.lost.value || "The start is not on this ground.");
  return cell ?? false;
}

async function begin(): Promise<void> {
  const { source, file, kind, name, isPair } = settings;
  if (kind.value === "rover" && source.value === "upload" && !file.value) {
    complain(missing());
    return;
  }
  const start = await startGiven();
  if (start === false) return;
  const slug = nameOf(name.value);
  const body = {
    kind: kind.value,
    config: settings.config(start),
    ...(slug ? { name: slug } : {}),
  };
  if (isPair.value) {
    const pair = await attempt(() =>
      post<{ safe: Summary; unsafe: Summary }>("POST", "/api/pairs", body),
    );
    if (pair) location.hash = to("compare", pair.safe.id, pair.unsafe.id);
  } else {
    const run = await attempt(() => post<Summary>("POST", "/api/runs", body));
    if (run) location.hash = to("run", run.id);
  }
}

export function NewPage() {
  const busy = useSignal(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    await begin();
    busy.value = false;
  };
  const { kind, explorer } = settings;
  return (
    <main class="form-page" id="main">
      <h1>New run</h1>
      <form
        onSubmit={(event) => void submit(event)}
        onInvalidCapture={(event) => unfold(event.target as Element)}
      >
        <fieldset class="card">
          <legend>World</legend>
          <Choice
            label="Kind of world"
            value={kind}
            options={[
              [
                "grid",
                "Grid world",
                "Squares of height 1 to 5; one sees the neighbours of where one stands.",
              ],
              ["rover", "Terrain", "A rover on an elevation model, which measures what is near."],
            ]}
            onChange={() => (explorer.value = "safe")}
          />
          {kind.value === "grid" ? <GridFields /> : <TerrainFields />}
        </fieldset>
        <Explorers />
        {settings.keepsLevel.value && <Promises />}
        <MoreSettings />
        <p class="submit">
          <button class="main" type="submit" disabled={busy.value}>
            {busy.value ? "Starting…" : "Start and watch"}
          </button>
        </p>
      </form>
    </main>
  );
}

function Explorers() {
  const { algorithm, beside, explorer, home, kind } = settings;
  return (
    <fieldset class="card">
      <legend>Explorer</legend>
      <Choice
        label="How it goes about it"
        value={explorer}
        options={
          kind.value === "grid"
            ? [
                ["safe", "Safe", "Keeps a way home."],
                ["uncover", "Unsafe", "Goes where most is to be uncovered."],
                ["rmax", "R-max", "Goes where it has not been."],
                ["near-bayesian", "Near-Bayesian", "Trusts its belief more with each visit."],
              ]
            : [
                ["safe", "Safe", "Keeps a way home."],
                ["unsafe", "Unsafe", "Goes where most is to be learned."],
                ["naive", "Naive", "Plans on the mean model as if it were true."],
              ]
        }
      />
      <Choice
        label="How it plans"
        value={algorithm}
        options={[
          ["rate", "By information per step", "δ is the level of the whole run."],
          ["paper", "As in the paper", "Algorithm 1: δ is the level of each plan."],
        ]}
        onChange={() => (home.value = algorithm.value === "paper" ? "current" : "start")}
      />
      {explorer.value === "safe" && (
        <Check value={beside}>
          Let the unsafe explorer loose in the same world, and compare the two
        </Check>
      )}
    </fieldset>
  );
}

function MoreSettings() {
  const { floor, floorUnit, isPaper, kind, name, seed, limit, part, truth } = settings;
  return (
    <details class="card">
      <summary>More settings</summary>
      <div class="fields">
        <Field label="Name" value={name} type="text" hint={nameHint(name.value)} />
        <Field
          label="Seed"
          value={seed}
          required
          min={0}
          step={1}
          hint="the same seed gives the same run"
        />
        <Field
          label="Steps at most"
          value={limit}
          min={0}
          step={1}
          hint={kind.value === "grid" ? "20 a square if empty" : "2000 if empty"}
        />
        {!isPaper.value && (
          <Field
            label="Floor"
            unit={floorUnit.value}
            value={floor}
            min={0}
            step="any"
            hint={`it ends where it would learn less; ${settings.floorDefault.value} if empty`}
          />
        )}
        {kind.value === "rover" && (
          <>
            <Field
              label="Part of the terrain"
              value={part}
              type="text"
              check={wrongPart}
              hint="column,row,width,height in pixels; all if empty"
            />
            <label class="field">
              <span>True heights</span>
              <select
                value={truth.value}
                onChange={(event) => (truth.value = event.currentTarget.value as "model" | "prior")}
              >
                <option value="model">the terrain model, with its error</option>
                <option value="prior">drawn from the belief</option>
              </select>
            </label>
          </>
        )}
      </div>
    </details>
  );
}

/** Say what a run will be called. */
function nameHint(text: string): string {
  if (!text.trim()) return "letters and digits; found for you if empty";
  const slug = nameOf(text);
  if (!slug) return "a name has letters a to z or digits; so it is found for you";
  return settings.isPair.value
    ? `the runs will be called ${slug}-safe and ${slug}-unsafe`
    : `the run will be called ${slug}`;
}
