// What the page has to say: one sentence at a time, read out by screen readers.

import { signal } from "@preact/signals";

export interface Message {
  text: string;
  wrong: boolean;
}

export const message = signal<Message | null>(null);
let fades = 0;

/** Say that something went wrong; it stays until the next message or until it is put away. */
export function complain(cause: unknown): void {
  window.clearTimeout(fades);
  const text = cause instanceof Error ? cause.message : String(cause);
  message.value = { text, wrong: true };
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
