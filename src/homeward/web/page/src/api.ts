// Calls of the server's interface (docs/http-api.md); `contract.ts` has the types of what it answers.

import { key } from "./key";
import type { Refusal as Code, Upload, UploadedArea } from "./contract";

export type * from "./contract";

/** A refusal of the server, with its sentence and code. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: Code | typeof UNREACHABLE | null = null,
  ) {
    super(message);
  }
}

/** Return the text of anything that was thrown. */
export function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

export const API = "/api/v1";
const [MAX_TRIES, RETRY_MS] = [40, 300];
export const UNREACHABLE = "unreachable"; // the code where there is no answer

/** Return the address of a run's resource. */
export function runUrl(id: string, rest = ""): string {
  return `${API}/runs/${encodeURIComponent(id)}${rest}`;
}

/** Return an address for an element that sends no headers, such as an image or a download. */
export function linkTo(url: string): string {
  return key() ? `${url}${url.includes("?") ? "&" : "?"}key=${encodeURIComponent(key())}` : url;
}

/** Return the headers of every request. */
function headers(more: Record<string, string> = {}): Record<string, string> {
  return key() ? { ...more, Authorization: `Bearer ${key()}` } : more;
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
  const sent = body === undefined ? {} : { "Content-Type": "application/json" };
  const init: RequestInit = { method, headers: { "X-Homeward": "1", ...sent } };
  if (body !== undefined) init.body = JSON.stringify(body);
  const answer = await reach(url, init);
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

/** Return after how many ms to ask again; null if the server does not say that one should. */
function later(answer: Response): number | null {
  const seconds = answer.status === 503 ? answer.headers.get("Retry-After") : null;
  return seconds === null ? null : Math.max(RETRY_MS, 1000 * Number(seconds));
}

/** Fetch; while a viewer has no answer yet, ask again. */
async function reach(url: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  const asked = { ...init, headers: headers(init.headers as Record<string, string>) };
  try {
    answer = await fetch(url, asked);
    for (let tries = 0; tries < MAX_TRIES && !init.method; tries++) {
      const pause = later(answer);
      if (pause === null) break;
      await new Promise((resolve) => setTimeout(resolve, pause));
      answer = await fetch(url, asked);
    }
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    const said = "The server does not answer. Is `homeward serve` still running?";
    throw new Refusal(said, 0, UNREACHABLE);
  }
  if (!answer.ok) {
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
    typeof code === "string" ? (code as Code) : null,
  );
}

/** Send polygons. */
export async function uploadArea(file: File): Promise<UploadedArea> {
  const sent = { "X-Homeward": "1", "Content-Type": "application/octet-stream" };
  const init: RequestInit = { method: "PUT", headers: sent, body: file };
  const answer = await reach(`${API}/areas/${encodeURIComponent(file.name)}`, init);
  return (await answer.json()) as UploadedArea;
}

/** Send a raster and report the fraction sent; `pixel` is in m, for files without a pixel size. */
export function upload(
  file: File,
  pixel: number | null,
  progress: (part: number) => void,
): { done: Promise<Upload>; stop: () => void } {
  const request = new XMLHttpRequest();
  const done = new Promise<Upload>((resolve, reject) => {
    const size = pixel === null ? "" : `?pixel=${pixel}`;
    request.open("PUT", `${API}/uploads/${encodeURIComponent(file.name)}${size}`); // fetch reports no progress
    for (const [name, value] of Object.entries(headers({ "X-Homeward": "1" })))
      request.setRequestHeader(name, value);
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

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
