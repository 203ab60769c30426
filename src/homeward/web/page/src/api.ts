// The server's interface (docs/api.md): types of what the page uses, and calls.

export type Status =
  "running" | "queued" | "paused" | "cancelled" | "interrupted" | "failed" | "finished" | "damaged" | "newer";

export interface Summary {
  id: string;
  kind: string | null; // null: it can't be opened
  explorer: string | null;
  delta: number | null;
  status: Status;
  place: number | null;
  steps: number;
  end: string | null; // the code of why it ended
  why: string | null; // the same in a sentence
  error: string | null;
  created: string | null;
  updated: string | null;
  shape: [number, number] | null;
  live: boolean;
  pair?: string | null;
}

export interface Layer {
  name: string;
  title: string;
  unit: string | null;
  scale: "sequential" | "categorical" | "probability";
  categories?: { value: number; title: string }[] | null;
}

export interface Criterion {
  name: string;
  kind: "return" | "stay" | "earn";
  level: number;
}

export interface Action {
  name: string;
  dr: number | null;
  dc: number | null;
}

export interface Details extends Summary {
  config: Record<string, unknown>;
  home: number | number[] | string | null;
  start: number | null;
  cell: [number, number] | null;
  layers: Layer[];
  criteria: Criterion[];
  actions: Action[];
  plan_ms: number | null;
}

/** Why an action was taken or not. */
export type Verdict =
  "chosen" | "less_safe" | "waits" | "unsafe" | "worth_less" | "not_chosen" | "no_safer" | "unavailable";

export interface WhyAction extends Action {
  action: number;
  leaves: number;
  exploration: number | null;
  safety: number[];
  weight: number;
  verdict: Verdict;
  words: string; // the verdict in English
}

export interface WhyCriterion extends Criterion {
  bound: number;
  kept_bound: number;
}

export interface Why {
  step: number;
  state: number;
  action: number | null; // null where the run ends
  end: string | null; // then the code of why; the sentence says it
  status: string; // of the solver
  sentence: string; // the decision or the end
  reasons: string; // of an end: what is left and could be changed
  explanation: string;
  criteria: WhyCriterion[];
  actions: WhyAction[];
  value: number | null;
  upper: number | null; // no safe plan is worth more
  way_home: number; // the proven chance of a way home from here
  proposal: Proposal | null; // what is pursued, by a run that plans until the next news
  recorded: { action: number; bounds: number[] } | null;
  agrees: boolean;
}

export interface Proposal {
  path: number[]; // cells, from here to where it heads
  gain: number; // expected within the steps
  steps: number;
  rate: number;
  unit: string | null; // of the gain
}

export interface Edge {
  from: number;
  to: number;
  action: number;
  success: number;
  risk: number;
  left: number;
}

export interface Way {
  cell: number;
  bound: number;
  home: number | number[] | null;
  edges: Edge[];
}

export interface World {
  name: string;
  title: string;
  story: string;
  map: string;
}

export interface Counterexample {
  name: string;
  title: string;
  story: string;
  delta: number;
  states: { name: string; x: number; y: number }[];
  worlds: {
    weight: number;
    edges: { from: string; to: string; action: string; p: number }[];
  }[];
  rows: { label: string; naive: number | null; exact: number | null; bound: number | null }[];
}

export interface Examples {
  worlds: World[];
  counterexamples: Counterexample[];
}

export interface Upload {
  upload: string;
  name: string;
  shape: [number, number];
  size: [number, number]; // m
  unit: string | null;
  crs: string | null;
}

export interface About {
  version: string;
  runs: string;
  limits: { uploads: number; runs: number; streams: number; cells: number };
}

/** A refusal of the server, with its sentence and code. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string | null = null,
  ) {
    super(message);
  }
}

/** Return the text of anything that was thrown. */
export function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

const CHANGES = { "X-Homeward": "1" };
const [MAX_TRIES, RETRY_MS] = [40, 300];
const STREAM_RETRY_MS = 3000;
export const UNREACHABLE = "unreachable"; // the code where there is no answer

/** Return the address of a run's resource. */
export function runUrl(id: string, rest = ""): string {
  return `/api/runs/${encodeURIComponent(id)}${rest}`;
}

/** Fetch JSON; throw a `Refusal` with the server's sentence if it is refused. */
export async function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  const answer = await reach(url, signal ? { signal } : {});
  return (await answer.json()) as T;
}

/** Fetch the bytes of a frame. */
export async function getBytes(url: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await reach(url, signal ? { signal } : {})).arrayBuffer();
}

/** Send a change; `body` is sent as JSON. */
export async function change<T>(
  method: "POST" | "DELETE",
  url: string,
  body?: unknown,
): Promise<T> {
  const init: RequestInit = { method, headers: CHANGES };
  if (body !== undefined) {
    init.headers = { ...CHANGES, "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const answer = await reach(url, init);
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

/** Return whether to ask again: the viewer is restarting, or answers another question first. */
function later(answer: Response): boolean {
  return answer.status === 503 || answer.status === 202;
}

/** Fetch; while a viewer has no answer yet, ask again. */
async function reach(url: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, init);
    for (let tries = 0; later(answer) && !init.method && tries < MAX_TRIES; tries++) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      answer = await fetch(url, init);
    }
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    const said = "The server does not answer. Is `homeward serve` still running?";
    throw new Refusal(said, 0, UNREACHABLE);
  }
  if (!answer.ok || later(answer)) {
    const plain = `The server answered with status ${answer.status}.`;
    throw refusalOf(await answer.text(), answer.status, plain);
  }
  return answer;
}

/** Return the refusal in a response; `plain` is its sentence if the response has none. */
function refusalOf(text: string, status: number, plain: string): Refusal {
  const { error, code } = parsed(text) ?? {};
  return new Refusal(
    typeof error === "string" && error ? error : plain,
    status,
    typeof code === "string" ? code : null,
  );
}

/** Send a file and report the fraction sent; `pixel` is in m, for files without a pixel size. */
export function upload(
  file: File,
  pixel: number | null,
  progress: (part: number) => void,
): { done: Promise<Upload>; stop: () => void } {
  const request = new XMLHttpRequest();
  const done = new Promise<Upload>((resolve, reject) => {
    const size = pixel === null ? "" : `?pixel=${pixel}`;
    request.open("PUT", `/api/uploads/${encodeURIComponent(file.name)}${size}`); // fetch reports no progress
    request.setRequestHeader("X-Homeward", "1");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => {
      if (event.lengthComputable && event.total > 0) progress(event.loaded / event.total);
    };
    request.onload = () => {
      const answer = parsed(request.responseText);
      if (request.status === 201 && answer) resolve(answer as unknown as Upload);
      else {
        const plain = `The upload was refused (${request.status}).`;
        reject(refusalOf(request.responseText, request.status, plain));
      }
    };
    request.onerror = () => reject(new Refusal("The upload broke off; nothing was kept.", 0));
    request.onabort = () => reject(new Refusal("The upload was stopped; nothing was kept.", 0));
    request.send(file);
  });
  return { done, stop: () => request.abort() };
}

/** Listen to a stream of events by name; return what ends that.
 *
 * `broken` is called when it breaks off; one that the server refused is opened again after a while.
 */
export function listen(
  url: string,
  heard: Record<string, (data: never) => void>,
  broken: (refused: boolean) => void,
  begun: () => void = () => undefined,
): () => void {
  let source: EventSource;
  let retry = 0;
  const open = (): void => {
    source = new EventSource(url);
    source.onopen = begun;
    for (const [name, hear] of Object.entries(heard))
      source.addEventListener(name, (event) => hear(JSON.parse(String(event.data)) as never));
    source.onerror = () => {
      const refused = source.readyState === EventSource.CLOSED;
      if (refused) retry = window.setTimeout(open, STREAM_RETRY_MS);
      broken(refused);
    };
  };
  open();
  return () => {
    window.clearTimeout(retry);
    source.close();
  };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
