// Messages to the user: one sentence at a time, announced by screen readers.

import { signal } from "@preact/signals";
import { Refusal, UNREACHABLE, getJson, textOf } from "./api";

export interface Message {
  text: string;
  wrong: boolean;
  code?: string | null; // of a refusal
}

export const message = signal<Message | null>(null);
export const locked = signal(false); // whether the server refuses this browser, which has no token
export const lost = signal(false); // whether the server does not answer
export const found = signal(0); // how often it answered again after that
const RETRY_MS = 2000;
let fades = 0;
let looks = 0;

/** Show an error; it stays until the next message or until it is closed. */
export function complain(cause: unknown): void {
  window.clearTimeout(fades);
  const code = cause instanceof Refusal ? cause.code : null;
  if (code === "no_token") {
    locked.value = true;
    return;
  }
  message.value = { text: textOf(cause), wrong: true, code };
  if (code === UNREACHABLE && !lost.value) {
    lost.value = true;
    lookAgain();
  }
}

/** Show an error if the server does not answer; called after a stream ended or was refused. */
export function doubt(): void {
  if (!lost.value && !locked.value) getJson("/api/v1/about").catch(complain);
}

/** Send requests until the server answers. */
function lookAgain(): void {
  window.clearTimeout(looks);
  looks = window.setTimeout(() => {
    getJson("/api/v1/about").then(foundAgain, lookAgain);
  }, RETRY_MS);
}

function foundAgain(): void {
  lost.value = false;
  found.value++;
  if (message.value?.code === UNREACHABLE) hush();
}

/** Show a notice, which disappears by itself. */
export function tell(text: string): void {
  window.clearTimeout(fades);
  message.value = { text, wrong: false };
  fades = window.setTimeout(() => (message.value = null), 5000);
}

export function hush(): void {
  message.value = null;
}

/** Remove an error, since what caused it is being changed. */
export function hushWrong(): void {
  if (message.value?.wrong && message.value.code !== UNREACHABLE) hush();
}

/** Do something that may fail; show the error and return null if it does. */
export async function attempt<T>(doing: () => Promise<T>): Promise<T | null> {
  try {
    const done = await doing();
    hushWrong();
    return done;
  } catch (cause) {
    complain(cause);
    return null;
  }
}
