// The fields of a world: a grid of heights, or a terrain and the vehicle on it.

import { Choice, Field } from "../../parts/fields";
import { forget } from "./ground";
import { Preview } from "./preview";
import * as settings from "./settings";
import { Uploader } from "./uploader";

export function GridFields() {
  return (
    <div class="fields">
      <Field
        label="Squares along a side"
        value={settings.size}
        required
        min={2}
        max={200}
        step={1}
      />
      <Field
        label="Fraction of walls"
        value={settings.walls}
        required
        min={0}
        max={1}
        step="any"
      />
    </div>
  );
}

export function TerrainFields() {
  const { source, landSeed, rows, columns, cell, climb, descend, range } = settings;
  return (
    <>
      <Choice
        label="Terrain"
        value={source}
        options={[
          ["mars", "Synthetic Mars", "Cratered ground, from a seed."],
          ["sample", "Sample", "Real ground that Matplotlib carries."],
          ["upload", "Your file", "GeoTIFF, HiRISE .IMG, ASCII grid, …"],
        ]}
        onChange={() => forget()}
      />
      {source.value === "upload" && <Uploader />}
      <div class="fields">
        {source.value === "mars" && (
          <>
            <Field
              label="Seed of the ground"
              value={landSeed}
              required
              min={0}
              step={1}
              onChange={() => forget()}
            />
            <Field label="From north to south" unit="m" value={rows} required min={20} step={1} />
            <Field label="From west to east" unit="m" value={columns} required min={20} step={1} />
          </>
        )}
        <Field label="Side of a cell" unit="m" value={cell} required min={0.01} step="any" />
      </div>
      <Preview />
      <h2>Vehicle</h2>
      <div class="fields">
        <Field label="Climbs at most" unit="°" value={climb} required min={0} max={89} step="any" />
        <Field
          label="Descends at most"
          unit="°"
          value={descend}
          required
          min={0}
          max={89}
          step="any"
        />
        <Field
          label="Sees as far as"
          unit="m"
          value={range}
          min={0}
          step="any"
          hint="the whole map if empty"
        />
      </div>
    </>
  );
}
