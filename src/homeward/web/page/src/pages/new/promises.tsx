// The safety criteria of a new run.

import { Check, Choice, Field } from "../../parts/fields";
import { LevelSlider } from "../../parts/level";
import type { Home } from "../../words";
import { cells, complaint, polygons, span, wrongChance } from "./reading";
import * as settings from "./settings";

type Option = [Home, string, string];

export function Promises() {
  const { bases, each, explorer, home, isPaper, level } = settings;
  const start: Option = ["start", "The start", "The start, for the whole run."];
  const several: Option = ["bases", "Bases", "Any of several cells, or each of them."];
  const current: Option = ["current", "Current position", "Set anew at each step, as in the paper."];
  return (
    <fieldset class="card stack">
      <legend>Safety</legend>
      <LevelSlider
        level={level}
        planHome={isPaper.value ? home.value : null}
        naive={explorer.value === "naive"}
      />
      <Choice
        label="Home"
        value={home}
        options={isPaper.value ? [current, start, several] : [start, several]}
      />
      {home.value === "bases" && (
        <>
          <div class="fields">
            <Field
              label="Positions of the bases"
              value={bases}
              type="text"
              check={(text) => complaint(cells(text))}
              hint="row,column of each, counted from 0: 3,4 7,0"
            />
          </div>
          <Check value={each}>Be able to return to each base, not only to one</Check>
        </>
      )}
      <More />
    </fieldset>
  );
}

const ANY_STEP = "of each plan; at any step if empty";

function More() {
  const { distance, energy, inside, insideColumns, insideLevel, insideRows, recall, within, withinLevel } = settings;
  const chance = { min: 0, max: 1, step: "any", check: wrongChance, hint: "δ if empty" } as const;
  const count = { min: 1, step: 1 };
  const amount = { min: 0, step: "any", hint: "with the way home; no limit if empty" } as const;
  const range = {
    type: "text",
    check: (text: string) => complaint(span(text)),
    hint: "first:last, counted from 0; all if empty",
  } as const;
  const isGrid = settings.kind.value === "grid";
  const area = isGrid ? insideRows.value + insideColumns.value : inside.value;
  return (
    <details>
      <summary>More criteria</summary>
      <div class="fields">
        <Field label="Home within" unit="steps" value={within} {...count} hint="no limit if empty" />
        {within.value.trim() !== "" && (
          <Field label="with probability" value={withinLevel} {...chance} />
        )}
        {settings.isPaper.value && (
          <Field label="Recall after" unit="steps" value={recall} {...count} hint={ANY_STEP} />
        )}
      </div>
      {!isGrid && !settings.isPaper.value && (
        <div class="fields">
          <Field label="Distance in all" unit="m" value={distance} {...amount} />
          <Field label="Energy in all" unit="Wh" value={energy} {...amount} />
        </div>
      )}
      {isGrid ? (
        <div class="fields">
          <Field label="Stay inside rows" value={insideRows} {...range} />
          <Field label="Stay inside columns" value={insideColumns} {...range} />
        </div>
      ) : (
        <Field
          label="Stay inside polygons"
          value={inside}
          type="lines"
          check={(text) => complaint(polygons(text))}
          hint="corners x,y in m, in map coordinates; one polygon per line: 0,0 400,0 400,300"
        />
      )}
      {settings.isPaper.value && area.trim() !== "" && (
        <div class="fields">
          <Field label="Stay inside with probability" value={insideLevel} {...chance} />
        </div>
      )}
    </details>
  );
}
