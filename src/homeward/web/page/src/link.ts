// A link: the part of the address after # holds what is on view, so that it can be sent on.

export type Page = "runs" | "run" | "compare" | "new" | "draw" | "calloff" | "stories";

export interface Port {
  x: number; // the middle of the view, in columns
  y: number; // and in rows
  zoom: number; // pixels to a column
}

export interface Link {
  page: Page;
  runs: string[]; // one to watch, two or more to compare
  step: number | null; // null: the first, or where a run is that goes
  layer: string | null;
  over: string | null;
  mix: number | null;
  port: Port | null; // null: the whole map
  other: Port | null; // of the second map, where it is not of the first one's shape
  upload?: boolean; // whether the form of a new run opens at an upload of a terrain
  started?: boolean; // just now, from the page: it is played if it has ended by now
}

/** Most runs on one page. */
export const MAX_COMPARED = 6;

const PAGES: readonly Page[] = ["runs", "run", "compare", "new", "draw", "calloff", "stories"];

/** Read a link; what it does not say, or says wrongly, is null. */
export function parse(hash: string): Link {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", ...rest] = path.split("/").map(decoded);
  const page = PAGES.find((known) => known === name) ?? "runs";
  const wanted = page === "run" ? 1 : page === "compare" ? 2 : 0;
  const most = page === "compare" ? MAX_COMPARED : wanted;
  const runs = rest.filter((id) => id !== "").slice(0, most);
  const said = new URLSearchParams(query);
  return {
    page: runs.length < wanted ? "runs" : page,
    runs,
    step: whole(said.get("step")),
    layer: said.get("layer"),
    over: said.get("over"),
    mix: between(said.get("mix"), 0, 1),
    port: portOf(said.get("view")),
    other: portOf(said.get("view2")),
    upload: said.get("terrain") === "upload",
  };
}

/** Name a view: two links with the same name differ in what they show of it. */
export function placeOf({ page, runs }: Link): string {
  return [page, ...runs].join("/");
}

/** Write a link, the inverse of `parse`. */
export function format(link: Link): string {
  const path = [link.page, ...link.runs].map(encodeURIComponent).join("/");
  const said: string[] = [];
  if (link.step !== null) said.push(`step=${link.step}`);
  if (link.layer) said.push(`layer=${encodeURIComponent(link.layer)}`);
  if (link.over) said.push(`over=${encodeURIComponent(link.over)}`);
  if (link.over && link.mix !== null) said.push(`mix=${short(link.mix)}`);
  for (const [name, port] of Object.entries({ view: link.port, view2: link.other })) {
    if (port) said.push(`${name}=${[port.x, port.y, port.zoom].map(short).join(",")}`);
  }
  return `#/${path}${said.length ? `?${said.join("&")}` : ""}`;
}

export function to(page: Page, ...runs: string[]): string {
  const rest = { step: null, layer: null, over: null, mix: null, port: null, other: null };
  return format({ page, runs, ...rest });
}

function short(value: number): string {
  return String(Number(value.toPrecision(5)));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function between(text: string | null, low: number, high: number): number | null {
  const value = text === null || text === "" ? NaN : Number(text);
  return value >= low && value <= high ? value : null;
}

function portOf(text: string | null): Port | null {
  const parts = (text ?? "").split(",").map(Number);
  const [x, y, zoom] = parts;
  if (parts.length !== 3 || x === undefined || y === undefined || zoom === undefined) return null;
  return [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : null;
}
