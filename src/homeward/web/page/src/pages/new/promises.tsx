// What must stay true: a way home, and what else is asked for.

import { Check, Choice, Field } from "../../parts/fields";
import { LevelSlider } from "../../parts/level";
import { cells, complaint, polygons, span, wrongChance } from "./reading";
import * as settings from "./settings";

type Option = [settings.Home, string, string];

export function Promises() {
  const { bases, each, explorer, home, isPaper, level } = settings;
  const start: Option = ["start", "The start", "One base for the whole run."];
  const several: Option = ["bases", "Bases", "Any of the cells that you give, or each of them."];
  const current: Option = ["current", "Where it stands", "Set anew at each step, as in the paper."];
  return (
    <fieldset class="card">
      <legend>What must stay true</legend>
      <LevelSlider
        level={level}
        planHome={isPaper.value ? home.value : null}
        naive={explorer.value === "naive"}
      />
      <Choice
        label="There is a way home. Home is"
        value={home}
        options={isPaper.value ? [current, start, several] : [start, several]}
      />
      {home.value === "bases" && (
        <>
          <div class="fields">
            <Field
              label="Where they are"
              value={bases}
              type="text"
              check={(text) => complaint(cells(text))}
              hint="row,column of each, counted from 0; as 3,4 7,0"
            />
          </div>
          <Check value={each}>There must be a way to each of them, not only to one</Check>
        </>
      )}
      <More />
    </fieldset>
  );
}

function More() {
  const { inside, insideColumns, insideLevel, insideRows, recall, within, withinLevel } = settings;
  const chance = {
    min: 0,
    max: 1,
    step: "any",
    check: wrongChance,
    hint: "δ if empty",
  } as const;
  const isGrid = settings.kind.value === "grid";
  const area = isGrid ? insideRows.value + insideColumns.value : inside.value;
  return (
    <details class="more">
      <summary>More that must stay true</summary>
      <div class="fields">
        <Field
          label="Home within"
          unit="steps"
          value={within}
          min={1}
          step={1}
          hint="of the call; any number if empty"
        />
        {within.value.trim() !== "" && (
          <Field label="with the chance" value={withinLevel} {...chance} />
        )}
        {settings.isPaper.value && (
          <Field
            label="Called off after"
            unit="steps"
            value={recall}
            min={1}
            step={1}
            hint="of each plan; at any step if empty"
          />
        )}
      </div>
      {isGrid ? (
        <div class="fields">
          <Field
            label="Stay inside rows"
            value={insideRows}
            type="text"
            check={(text) => complaint(span(text))}
            hint="first:last, counted from 0; all if empty"
          />
          <Field
            label="and columns"
            value={insideColumns}
            type="text"
            check={(text) => complaint(span(text))}
            hint="first:last, counted from 0; all if empty"
          />
        </div>
      ) : (
        <Field
          label="Stay inside polygons"
          value={inside}
          type="lines"
          check={(text) => complaint(polygons(text))}
          hint="corners x,y in m, in the map’s coordinates; one polygon a line, as 0,0 400,0 400,300"
        />
      )}
      {settings.isPaper.value && area.trim() !== "" && (
        <div class="fields">
          <Field label="Stay inside with the chance" value={insideLevel} {...chance} />
        </div>
      )}
    </details>
  );
}
