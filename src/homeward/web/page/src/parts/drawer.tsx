// What belongs to a run besides its map: settings, files to take along, other levels, its certificate.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { change, getJson, linkTo, runUrl } from "../api";
import type { Certificate, Details, Files, NewRuns } from "../api";
import { MAX_COMPARED, to } from "../link";
import { attempt } from "../messages";
import type { Scene } from "../run/scene";
import { loadSchemas, titled } from "../run/schema";
import { riskWord } from "../run/timeline";
import { beside, figure, levelName } from "../words";
import { Numbers } from "./numbers";

/** Titles of known files, by their name or the end of it. */
const TITLES: [string, string][] = [
  ["path.geojson", "Path (GeoJSON)"],
  ["path.gpx", "Path (GPX)"],
  ["path.kml", "Path (KML)"],
  ["path_points.geojson", "Path, point by point (GeoJSON)"],
  ["way_home.geojson", "Way home at the end (GeoJSON)"],
  ["way_home.gpx", "Way home at the end (GPX)"],
  ["way_home.kml", "Way home at the end (KML)"],
  ["terrain.tif", "Terrain as known (GeoTIFF)"],
  ["way_home_probability.tif", "Probability of a way home (GeoTIFF)"],
  ["terrain.qml", "Colours of the terrain for QGIS (QML)"],
  ["map.png", "Map (PNG)"],
  ["summary.md", "Summary"],
  ["summary.json", "Summary (JSON)"],
];

export function Drawer({ scene, details }: { scene: Scene; details: Details }) {
  return (
    <details class="card drawer fine" onToggle={loadSchemas}>
      <summary>Settings, files and certificate</summary>
      <div class="stack">
        <Settings details={details} />
        <Downloads scene={scene} details={details} />
        {details.delta !== null && <OtherLevels scene={scene} details={details} />}
        {!details.live && details.steps > 0 && <Certify id={details.id} />}
      </div>
    </details>
  );
}

/** Settings whose values a reader looks for first; the rest follows. */
const FIRST = ["explorer", "delta", "algorithm", "seed", "discount", "climb", "descend", "sensor_range", "home", "limit"];

function Settings({ details }: { details: Details }) {
  const set = Object.entries(details.config).filter(
    ([name, value]) => value !== null && value !== "" && !name.endsWith("_sha256"), // of the cells
  );
  const rank = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  set.sort(([a], [b]) => rank(a) - rank(b));
  return (
    <section aria-label="Settings">
      <h3>Settings</h3>
      <dl class="settings">
        {set.map(([name, value]) => {
          const { label, unit } = titled(details.kind, name);
          return (
            <div key={name}>
              <dt class="soft">{label}</dt>
              <dd class={typeof value === "number" ? "num" : ""}>
                {valueWord(details.files[name]?.name ?? value)}
                {unit && typeof value === "number" && `\u00a0${unit}`}
              </dd>
            </div>
          );
        })}
        {Object.entries(details.files).map(([name, { sha256 }]) => (
          <div key={`${name} file`}>
            <dt class="soft">SHA-256 of {titled(details.kind, name).label.toLowerCase()} file</dt>
            <dd title={sha256 ?? ""}>{sha256 ? `${sha256.slice(0, 16)}…` : "not recorded"}</dd>
          </div>
        ))}
        {details.crs && (
          <div>
            <dt class="soft">Coordinate system</dt>
            <dd>{details.crs}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function valueWord(value: unknown): string {
  if (typeof value === "number") return figure(value, 6);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function Downloads({ scene, details }: { scene: Scene; details: Details }) {
  const files = useSignal<Files["files"]>([]);
  useEffect(() => {
    getJson<Files>(runUrl(details.id, "/files"))
      .then((found) => (files.value = found.files))
      .catch(() => undefined); // there is nothing to take along then
  }, [details.id, details.status]);
  const step = scene.step.value;
  const rank = (name: string): number => {
    const at = TITLES.findIndex(([known]) => known === name);
    return at < 0 ? TITLES.length : at;
  };
  const sorted = [...files.value].sort((a, b) => rank(a.name) - rank(b.name));
  return (
    <section aria-label="Downloads">
      <h3>Downloads</h3>
      <ul class="downloads">
        {details.way_files.map((suffix) => (
          <li key={suffix}>
            <a download href={linkTo(runUrl(details.id, `/steps/${step}/way/home${suffix}`))}>
              Way home after step {step} ({suffix === ".geojson" ? "GeoJSON" : suffix.slice(1).toUpperCase()})
            </a>
          </li>
        ))}
        {details.shape && details.steps > 0 && (
          <li>
            <a download href={linkTo(runUrl(details.id, "/play.html"))}>
              This run as a page that plays offline (HTML)
            </a>
          </li>
        )}
        {sorted.map(({ name, bytes }) => (
          <li key={name}>
            <a download href={linkTo(runUrl(details.id, `/files/${encodeURIComponent(name)}`))}>
              {TITLES[rank(name)]?.[1] ?? name}
            </a>{" "}
            <span class="soft">{size(bytes)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function size(bytes: number): string {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Make the run again in the same world at other levels, and compare. */
function OtherLevels({ scene, details }: { scene: Scene; details: Details }) {
  const risk = riskWord(scene.run);
  const text = useSignal(details.delta === 0.9 ? "0.99, 0.7" : "0.9, 0.7");
  const busy = useSignal(false);
  const typed = text.value.split(/[,;\s]+/).filter(Boolean).map(Number);
  const levels = [...new Set(typed)].filter((level) => level !== details.delta);
  const own = details.delta !== null && typed.includes(details.delta);
  const wrong = !levels.length || levels.length >= MAX_COMPARED || levels.some((l) => !(l > 0 && l <= 1));
  const start = async (): Promise<void> => {
    busy.value = true;
    const made = await attempt(() =>
      change<NewRuns>("POST", runUrl(details.id, "/again"), { deltas: levels }),
    );
    busy.value = false;
    if (made) location.hash = to("compare", details.id, ...made.runs.map(({ id }) => id));
  };
  return (
    <section aria-label="Other levels">
      <h3>Same world, other δ</h3>
      {risk && <p>{risk} A lower level refuses less, and counts risk for less.</p>}
      <p class="row">
        <label class="row">
          <span>δ =</span>
          <input
            type="text"
            value={text.value}
            aria-invalid={wrong}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </label>
        <button disabled={wrong || busy.value} onClick={() => void start()}>
          Run and compare
        </button>
      </p>
      {own && (
        <p class="own-level" role="status">
          δ = {levelName(details.delta ?? 0)} is the level of this run: it is compared, not run again.
        </p>
      )}
      {wrong && (
        <p class="ended fine" role="alert">
          Enter 1 to {MAX_COMPARED - 1} other levels above 0 and up to 1, separated by commas.
        </p>
      )}
    </section>
  );
}

/** Check what the run claims, without the planner, and offer the verdict as a file. */
function Certify({ id }: { id: string }) {
  const found = useSignal<Certificate | null>(null);
  const busy = useSignal(false);
  const check = async (): Promise<void> => {
    busy.value = true;
    found.value = await attempt(() => getJson<Certificate>(runUrl(id, "/certificate")));
    busy.value = false;
  };
  const verdict = found.value;
  return (
    <section aria-label="Certificate">
      <h3>Certificate</h3>
      <p class="row" role="status">
        <button disabled={busy.value} onClick={() => void check()}>
          {busy.value ? "Checking every step…" : "Certify"}
        </button>
        {verdict && (
          <>
            <b class={verdict.refuted ? "bad" : "good"}>
              {verdict.refuted ? "A claim is refuted." : "Every claim is confirmed."}
            </b>
            <a
              download={`${id}-certificate.json`}
              href={URL.createObjectURL(
                new Blob([JSON.stringify(verdict, null, 1)], { type: "application/json" }),
              )}
            >
              Certificate (JSON)
            </a>
          </>
        )}
      </p>
      {verdict && <Source details={verdict.details} />}
      {verdict && <Claims details={verdict.details} />}
    </section>
  );
}

/** The terrain that a certificate is about: the file, its digest and its coordinate system. */
function Source({ details }: { details: Certificate["details"] }) {
  const { files = {}, crs } = (details["record"] ?? {}) as {
    files?: Record<string, { name: string; sha256: string | null }>;
    crs?: string | null;
  };
  const { terrain } = files;
  if (!terrain) return null;
  return (
    <p class="certified">
      Of {terrain.name}
      {terrain.sha256 && <> (SHA-256 <span title={terrain.sha256}>{terrain.sha256.slice(0, 16)}…</span>)</>}
      {crs && `, ${crs}`}.
    </p>
  );
}

/** A claim of a certificate, as far as the table of claims shows it. */
interface Claim {
  claim: string;
  level: number;
  claimed: number;
  found: number | null; // by the check; null if the check gives no number
  verdict: string;
}

/** Return the claims that a certificate checked: of a whole run, or of the last plan. */
function claimsOf(details: Record<string, unknown>): Claim[] {
  const { run, homes = [], verdicts = [] } = details as {
    run: { level: number; kept: number; recomputed: number | null; verdict: string } | null;
    homes?: { name: string; level: number; kept: number; charged: number; verdict: string }[];
    verdicts?: {
      criterion: string;
      part: string;
      level: number;
      claimed: number;
      estimate: number | null;
      verdict: string;
    }[];
  };
  const whole = run && { ...run, claim: "whole run: return home", claimed: run.kept, found: run.recomputed };
  return [
    ...(whole ? [whole] : []),
    ...homes.map((home) => ({ ...home, claim: home.name, claimed: home.kept, found: 1 - home.charged })),
    ...verdicts.map((each) => ({ ...each, claim: `${each.criterion} (${each.part})`, found: each.estimate })),
  ];
}

/** The table of what was claimed, and of what the check found. */
function Claims({ details }: { details: Certificate["details"] }) {
  const claims = claimsOf(details);
  const notes = (details["notes"] ?? []) as string[];
  return (
    <>
      {claims.length > 0 && (
        <Numbers label="Claims" heads={["claim", "δ", "claimed", "found"]}>
          {claims.map(({ claim, level, claimed, found, verdict }) => (
            <tr key={claim}>
              <th scope="row">
                {claim}
                <span class="block soft">{verdict}</span>
              </th>
              <td>{levelName(level)}</td>
              <td>{beside(claimed, level)}</td>
              <td>{found === null ? "–" : beside(found, level)}</td>
            </tr>
          ))}
        </Numbers>
      )}
      {notes.map((note) => (
        <p key={note}>{note}.</p>
      ))}
    </>
  );
}
