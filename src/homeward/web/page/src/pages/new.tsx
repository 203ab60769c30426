// The form of a new run: world, explorer, safety criteria.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import type { Link } from "../link";
import { attempt, complain, hushWrong } from "../messages";
import { Check, Choice, Field, unfold } from "../parts/fields";
import { startPair, startRun } from "../run/starting";
import * as ground from "./new/ground";
import { Promises } from "./new/promises";
import { nameOf, wrongPart } from "./new/reading";
import { OtherSettings } from "./new/others";
import { loadSchemas } from "../run/schema";
import * as settings from "./new/settings";
import { GridFields, TerrainFields } from "./new/terrain";
import { missing } from "./new/uploader";

/** Return the cell of the start, null if none was set, false if it is not on the terrain. */
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
  if (!cell) complain(ground.lost.value || "The start is not on this terrain.");
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
  await (isPair.value ? startPair(body) : startRun(body));
}

export function NewPage({ link }: { link: Link }) {
  const busy = useSignal(false);
  useEffect(loadSchemas, []);
  useLayoutEffect(() => {
    if (!link.upload || (settings.kind.value === "rover" && settings.source.value === "upload")) return;
    settings.kind.value = "rover";
    settings.source.value = "upload";
    settings.suitTerrain();
    settings.forgetAdjusted(); // nobody has seen other values
    ground.leave();
  }, [link]);
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
        class="stack"
        onSubmit={(event) => void submit(event)}
        onInput={hushWrong}
        onInvalidCapture={(event) => unfold(event.target as Element)}
      >
        <fieldset class="card stack">
          <legend>World</legend>
          <Choice
            label="Kind of world"
            value={kind}
            options={[
              [
                "grid",
                "Grid world",
                "Squares of height 1 to 5; the explorer sees its neighbours.",
              ],
              ["rover", "Terrain", "A rover on an elevation model; it measures the heights around it."],
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
  const { algorithm, beside, explorer, home, kind, limit } = settings;
  const limitHint = kind.value === "grid" ? "20 per square if empty" : "2000 if empty";
  return (
    <fieldset class="card stack">
      <legend>Explorer</legend>
      <Choice
        label="Type of explorer"
        value={explorer}
        options={
          kind.value === "grid"
            ? [
                ["safe", "Safe", "Stays able to return home."],
                ["uncover", "Unsafe", "Goes where it would uncover most."],
                ["rmax", "R-max", "Goes where it has not been yet."],
                ["near-bayesian", "Near-Bayesian", "Its bonus decreases with each visit."],
              ]
            : [
                ["safe", "Safe", "Stays able to return home."],
                ["unsafe", "Unsafe", "Goes where it would learn most."],
                ["naive", "Naive", "Plans as if the mean model were true."],
              ]
        }
      />
      <Choice
        label="Algorithm"
        value={algorithm}
        options={[
          ["rate", "Information per step", "δ holds for the whole run."],
          ["paper", "As in the paper", "Algorithm 1: δ holds for each plan."],
        ]}
        onChange={() => (home.value = algorithm.value === "paper" ? "current" : "start")}
      />
      <div class="fields">
        <Field label="Maximum steps" value={limit} min={0} step={1} hint={limitHint} />
      </div>
      {explorer.value === "safe" && (
        <Check value={beside}>
          Also run an unsafe explorer in the same world, and compare the two
        </Check>
      )}
    </fieldset>
  );
}

function MoreSettings() {
  const { floor, floorUnit, isPaper, kind, name, seed, part, truth } = settings;
  return (
    <details class="card">
      <summary>More settings</summary>
      <div class="fields">
        <Field label="Name" value={name} type="text" hint={nameHint(name.value)} />
        <Field label="Seed" value={seed} required min={0} step={1} hint="same seed, same run" />
        {!isPaper.value && (
          <Field
            label="Minimum rate"
            unit={floorUnit.value}
            value={floor}
            min={0}
            step="any"
            hint={`the run ends below it; ${settings.floorDefault.value} if empty`}
          />
        )}
        {kind.value === "rover" && (
          <>
            <Field
              label="Part of the terrain"
              value={part}
              type="text"
              check={wrongPart}
              onChange={settings.suitTerrain}
              hint="column,row,width,height in pixels; everything if empty"
            />
            <label class="field fine">
              <span>True heights</span>
              <select
                value={truth.value}
                onChange={(event) => (truth.value = event.currentTarget.value as "model" | "prior")}
              >
                <option value="model">the terrain model with its error</option>
                <option value="prior">drawn from the belief</option>
              </select>
            </label>
          </>
        )}
        <OtherSettings kind={kind.value} />
      </div>
    </details>
  );
}

/** Return the hint of the name field: what the run will be called. */
function nameHint(text: string): string {
  if (!text.trim()) return "letters and digits; chosen for you if empty";
  const slug = nameOf(text);
  if (!slug) return "without letters a to z or digits; chosen for you";
  return settings.isPair.value
    ? `the runs will be called ${slug}-safe and ${slug}-unsafe`
    : `the run will be called ${slug}`;
}
