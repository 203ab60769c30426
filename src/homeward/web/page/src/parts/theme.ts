// Light or dark: as the system says, unless the switch says otherwise.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "homeward.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme {
  try {
    const said = localStorage.getItem(KEY);
    return said === "light" || said === "dark" ? said : "system";
  } catch {
    return "system"; // storage is closed to us; the switch works all the same
  }
}

export const theme = signal<Theme>(stored());
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

/** Whether it is dark now; what is drawn rather than styled listens to it. */
export const dark = signal(false);

effect(() => {
  dark.value = theme.value === "system" ? systemDark.value : theme.value === "dark";
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  try {
    if (theme.value === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme.value);
  } catch {
    // as above
  }
});

export function nextTheme(): void {
  theme.value = dark.value ? "light" : "dark";
}

/** Give a colour of the style sheet. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
