// The fields of a world: a grid, or a terrain and its vehicle.

import { Choice, Field } from "../../parts/fields";
import { ClosedFile } from "./closed";
import { forget, leave } from "./ground";
import { Wheelbase } from "./others";
import { Preview } from "./preview";
import { complaint, targets } from "./reading";
import { limits } from "../../run/schema";
import * as settings from "./settings";
import { Uploader } from "./uploader";

export function GridFields() {
  return (
    <div class="fields">
      <Field label="Squares per side" value={settings.size} required {...limits("grid", "size")} />
      <Field label="Fraction of walls" value={settings.walls} required {...limits("grid", "walls")} />
    </div>
  );
}


/** Return the limits of a setting that must be given. */
function needed(key: string) {
  return { required: true, ...limits("rover", key) } as const;
}

export function TerrainFields() {
  const { source, landSeed, rows, columns, cell, climb, descend, roll, range } = settings;
  const farthest = settings.isDriven.value ? "five cells" : "the whole map";
  const side = cell.value.trim() ? {} : { hint: "about 100 along the longer side, as none is given" };
  const reach = range.value.trim() ? {} : { hint: `${farthest}, as none is given` };
  return (
    <>
      <Choice
        label="Terrain"
        value={source}
        options={[
          ["mars", "Synthetic Mars", "Cratered terrain, generated from a seed."],
          ["sample", "Sample", "Real terrain from Matplotlib's sample data."],
          ["upload", "Your file", "GeoTIFF, HiRISE .IMG, ASCII grid, …"],
        ]}
        onChange={() => {
          settings.forgetAdjusted();
          settings.suitTerrain();
          leave();
        }}
      />
      {source.value === "upload" && <Uploader />}
      <div class="fields">
        {source.value === "mars" && (
          <>
            <Field label="Terrain seed" value={landSeed} {...needed("terrain_seed")} onChange={() => forget()} />
            <Field label="North to south" unit="m" value={rows} {...needed("rows")} />
            <Field label="West to east" unit="m" value={columns} {...needed("columns")} />
          </>
        )}
        <Field label="Cell size" unit="m" value={cell} {...limits("rover", "cell")} {...side} onChange={settings.suitTypedCell} />
      </div>
      <p class="adjusted fine" role="status" hidden={!settings.adjusted.value}>
        {settings.adjusted.value}
      </p>
      <div class="fields">
        <ClosedFile
          label="Obstacles"
          value={settings.obstacles}
          masks
          hint="what no wheel may touch: polygons (GeoJSON), or a raster on the same grid"
        />
        <ClosedFile
          label="Keep out of"
          value={settings.keepOut}
          hint="polygons (GeoJSON) that the vehicle never enters, on its way home neither"
        />
      </div>
      <Preview />
      <h2>Vehicle</h2>
      <div class="fields">
        <Field label="Maximum climb" unit="°" value={climb} {...needed("climb")} />
        <Field label="Maximum descent" unit="°" value={descend} {...needed("descend")} />
        {settings.isDriven.value && (
          <Field label="Maximum side slope" unit="°" value={roll} {...needed("roll")} />
        )}
        {settings.isDriven.value && <Wheelbase />}
        <Field label="Sensor range" unit="m" value={range} {...limits("rover", "sensor_range")} {...reach} />
      </div>
      {!settings.isPaper.value && (
        <Field
          label="Targets"
          value={settings.places}
          type="lines"
          check={(text) => complaint(targets(text))}
          hint="places to visit, x,y or x,y,weight in m, in map coordinates; one per line: 120,80,2"
        />
      )}
    </>
  );
}
