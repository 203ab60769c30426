// What the page has to say: one sentence at a time, read out by screen readers.

import { signal } from "@preact/signals";
import { Refusal, UNREACHABLE, getJson } from "./api";

export interface Message {
  text: string;
  wrong: boolean;
  code?: string | null; // of a refusal
}

export const message = signal<Message | null>(null);
export const lost = signal(false); // whether the server does not answer
export const found = signal(0); // how often it answered again
const LOOK = 2000; // ms between two tries to reach it
let fades = 0;
let looks = 0;

/** Say that something went wrong; it stays until the next message or until it is put away. */
export function complain(cause: unknown): void {
  window.clearTimeout(fades);
  const text = cause instanceof Error ? cause.message : String(cause);
  const code = cause instanceof Refusal ? cause.code : null;
  message.value = { text, wrong: true, code };
  if (code === UNREACHABLE && !lost.value) {
    lost.value = true;
    lookAgain();
  }
}

/** A stream broke off: say so if it is the server that does not answer. */
export function doubt(): void {
  if (!lost.value) getJson("/api/about").catch(complain);
}

/** Try until the server answers; then what was said of it is over. */
function lookAgain(): void {
  window.clearTimeout(looks);
  looks = window.setTimeout(() => {
    getJson("/api/about").then(foundAgain, lookAgain);
  }, LOOK);
}

function foundAgain(): void {
  lost.value = false;
  found.value++;
  if (message.value?.code === UNREACHABLE) hush();
}

/** Say what happened; it goes by itself. */
export function tell(text: string): void {
  window.clearTimeout(fades);
  message.value = { text, wrong: false };
  fades = window.setTimeout(() => (message.value = null), 5000);
}

export function hush(): void {
  message.value = null;
}

/** Do something that may be refused; say so if it is. */
export async function attempt<T>(doing: () => Promise<T>): Promise<T | null> {
  try {
    const done = await doing();
    if (message.value?.wrong) hush();
    return done;
  } catch (cause) {
    complain(cause);
    return null;
  }
}
