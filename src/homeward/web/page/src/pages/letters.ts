// Whether single letters are keys; a reader who speaks to the browser switches them off.

import { signal } from "@preact/signals";
import { store, stored } from "../storage";

const LETTERS = "homeward.letters";

/** Whether keys that are single letters, digits or signs do something. */
export const letterKeys = signal(stored(LETTERS) !== "off");

export function switchLetterKeys(on: boolean): void {
  letterKeys.value = on;
  store(LETTERS, on ? null : "off");
}
