// Light or dark colours: the system's choice unless the user switched.

import { effect, signal } from "@preact/signals";
import { store, stored } from "../storage";

type Theme = "system" | "light" | "dark";
const KEY = "homeward.theme";
const KNOWN: readonly Theme[] = ["light", "dark"];
const system = window.matchMedia("(prefers-color-scheme: dark)");

const theme = signal<Theme>(KNOWN.find((known) => known === stored(KEY)) ?? "system");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

/** Whether dark colours are in use; canvases redraw when it changes. */
export const dark = signal(false);

effect(() => {
  dark.value = theme.value === "system" ? systemDark.value : theme.value === "dark";
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  store(KEY, theme.value === "system" ? null : theme.value);
});

export function nextTheme(): void {
  theme.value = dark.value ? "light" : "dark";
}

/** Return a colour of the style sheet. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
