// Upload of an elevation model: chosen or dropped, sent, and given a pixel size if it has none.

import { signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Refusal, getJson, upload } from "../../api";
import type { About, Upload } from "../../api";
import { complain, hush, message } from "../../messages";
import { Field } from "../../parts/fields";
import { figure } from "../../words";
import { leave } from "./ground";
import { number } from "./reading";
import { file, suitFile } from "./settings";

/** The file that was chosen, be it taken or not; whether it needs a pixel size, and which. */
const chosen = signal<File | null>(null);
const needsPixel = signal(false);
const pixel = signal("");
let sentWith = "";
const progress = signal<number | null>(null);
let sending: { stop: () => void } | null = null;
let tries = 0;

/** Replace the file; send it unless its pixel size is needed first. */
function take(next: File | undefined): void {
  if (!next) return;
  chosen.value = next;
  needsPixel.value = /\.npy$/i.test(next.name);
  pixel.value = sentWith = "";
  file.value = null;
  leave();
  if (message.value?.wrong) hush();
  tries++; // the upload in progress is obsolete
  sending?.stop();
  progress.value = null;
  if (!needsPixel.value) void send(next);
}

/** Send the file again, once its pixel size is given. */
function again(): void {
  if (chosen.value && progress.value === null && Number(pixel.value) > 0) void send(chosen.value);
}

/** Return why there is no terrain yet. */
export function missing(): string {
  if (!chosen.value) return "Choose a terrain file first.";
  return progress.value === null
    ? `${chosen.value.name} was not accepted: choose another file.`
    : `Wait until ${chosen.value.name} has been read.`;
}

async function send(sent: File): Promise<void> {
  const turn = ++tries;
  progress.value = 0;
  sentWith = pixel.value;
  try {
    const { limits } = await getJson<About>("/api/v1/about");
    if (turn !== tries) return;
    if (sent.size > limits.uploads)
      throw new Error(
        `${sent.name} has ${figure(sent.size / 1e6, 3)} MB; the limit is ${figure(limits.uploads / 1e6, 3)} MB.`,
      );
    const size = needsPixel.value ? number(pixel.value) : null;
    const request = upload(sent, size, (part) => (progress.value = part));
    sending = request;
    const done = await request.done;
    if (turn !== tries) return;
    if (message.value?.wrong) hush();
    settle(done);
  } catch (cause) {
    if (turn !== tries) return; // another file was chosen meanwhile
    if (cause instanceof Refusal && cause.code === "no_pixel_size") needsPixel.value = true;
    complain(cause);
  }
  progress.value = null;
  sending = null;
}

/** Use an upload as the terrain. */
function settle(done: Upload): void {
  file.value = done;
  leave();
  suitFile();
}

export function Uploader() {
  const over = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const lacking = needsPixel.value && chosen.value;
  const choose = (next: File | undefined): void => {
    take(next);
    if (input.current) input.current.value = ""; // so that the same file can be chosen again
  };
  return (
    <div
      class={over.value ? "drop stack over" : "drop stack"}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => (over.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        choose(event.dataTransfer?.files[0]);
      }}
    >
      <label>
        <span>Drop an elevation model here, or choose it: </span>
        <input
          ref={input}
          type="file"
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      </label>
      {lacking && (
        <div class="lacking stack">
          <p aria-live="polite">
            {lacking.name} has no pixel size: give the width of a pixel in metres.
          </p>
          <div class="fields">
            <Field
              label="Pixel size"
              unit="m"
              value={pixel}
              required
              step="any"
              check={(text) => (Number(text) > 0 ? "" : "Give a length above 0 m.")}
              onCommit={() => pixel.value !== sentWith && again()}
            />
          </div>
          <button
            type="button"
            disabled={progress.value !== null || !(Number(pixel.value) > 0)}
            onClick={again}
          >
            {file.value ? "Send again" : "Send"}
          </button>
        </div>
      )}
      {progress.value !== null && (
        <p>
          <progress max={1} value={progress.value} aria-label="Upload" />{" "}
          {progress.value < 1 ? `${Math.round(100 * progress.value)} %` : "Reading the file…"}{" "}
          <button type="button" class="small" onClick={() => sending?.stop()}>
            Stop
          </button>
        </p>
      )}
      {file.value && (
        <p class="soft" data-upload={file.value.upload}>
          {file.value.name}: {file.value.shape[1]} columns × {file.value.shape[0]} rows of pixels,{" "}
          {[...file.value.size].reverse().map((side) => figure(side, 3)).join(" × ")} m each
          {file.value.crs ? `, ${file.value.crs.slice(0, 60)}` : ""}.
          {file.value.bands > 1 && ` Heights: band 1 of ${file.value.bands}.`}
        </p>
      )}
    </div>
  );
}
