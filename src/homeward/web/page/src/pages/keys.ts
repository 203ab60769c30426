// Keys that work anywhere on a page with a time cursor.

import { useEffect } from "preact/hooks";
import { selectLayer } from "../run/show";
import { helping } from "./help";
import { letterKeys } from "./letters";
import type { Watching } from "./watch";

/** Elements that use all keys themselves. */
export const TEXT_FIELDS = "input:not([type=range]), textarea, select";
const SLIDER_KEYS = ["ArrowLeft", "ArrowRight", "Home", "End"];

const SCROLL_KEYS = [...SLIDER_KEYS, " "];

function isLetter(key: string): boolean {
  return key.length === 1 && key !== " ";
}

/** Return whether an element scrolls, so that these keys are its own. */
function scrolls(target: Element): boolean {
  const region = target.closest(".scroll, pre");
  if (!region) return false;
  return region.scrollWidth > region.clientWidth || region.scrollHeight > region.clientHeight;
}

export function useKeys({ cursor, runs, show }: Watching): void {
  useEffect(() => {
    const commands: Record<string, (steps: number) => void> = {
      " ": () => cursor.toggle(),
      ArrowLeft: (steps) => cursor.by(-steps),
      ArrowRight: (steps) => cursor.by(steps),
      Home: () => cursor.by(-Infinity),
      End: () => cursor.by(Infinity),
      s: () => cursor.faster(-1),
      f: () => cursor.faster(1),
      "+": () => click("in", show.apart.value),
      "=": () => click("in", show.apart.value),
      "-": () => click("out", show.apart.value),
      "0": () => click("fit", show.apart.value),
    };
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, shiftKey } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (helping.value || !(target instanceof Element) || target.matches(TEXT_FIELDS)) return;
      if (key === " " && target.matches("button, a, summary")) return;
      if (isLetter(key) && !letterKeys.value) return;
      if (SCROLL_KEYS.includes(key) && scrolls(target)) return;
      if (SLIDER_KEYS.includes(key) && target.matches("input[type=range]:not(.scrub)")) return;
      const layer = runs[0]?.details.value?.layers[Number(key) - 1];
      if (commands[key]) commands[key](shiftKey ? 10 : 1);
      else if (layer) selectLayer(show, layer.name);
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [cursor, runs, show]);
}

/** Zoom as the maps' own buttons do; maps that share a view need one of them. */
function click(zoom: "in" | "out" | "fit", all: boolean): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>(`[data-zoom=${zoom}]`);
  [...buttons].slice(0, all ? buttons.length : 1).forEach((button) => button.click());
}
