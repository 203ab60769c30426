// Keys that work anywhere on a page with a cursor.

import { useEffect } from "preact/hooks";
import { helping } from "./help";
import type { Watching } from "./watch";

export function useKeys({ cursor, runs, show }: Watching): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || helping.value)
        return;
      const target = event.target as HTMLElement;
      if (target.matches("input:not([type=range]), textarea, select")) return;
      const own = target.matches("button, a, summary");
      const sliding = target.matches("input[type=range]:not(.scrub)");
      const layers = runs[0]?.details.value?.layers ?? [];
      switch (event.key) {
        case " ":
          if (own) return;
          cursor.toggle();
          break;
        case "ArrowLeft":
        case "ArrowRight":
          if (sliding) return;
          cursor.by((event.key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 10 : 1));
          break;
        case "Home":
          if (sliding) return;
          cursor.by(-Infinity);
          break;
        case "End":
          if (sliding) return;
          cursor.by(Infinity);
          break;
        case "s":
          cursor.faster(-1);
          break;
        case "f":
          cursor.faster(1);
          break;
        case "+":
        case "=":
          click("in", show.apart.value);
          break;
        case "-":
          click("out", show.apart.value);
          break;
        case "0":
          click("fit", show.apart.value);
          break;
        default: {
          const layer = /^[1-9]$/.test(event.key) ? layers[Number(event.key) - 1] : undefined;
          if (!layer) return;
          show.layer.value = layer.name;
          if (show.over.value === layer.name) show.over.value = null;
        }
      }
      event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [cursor, runs, show]);
}

/** Zoom as the maps' own buttons do; maps that share a view need one of them. */
function click(zoom: "in" | "out" | "fit", all: boolean): void {
  const found = document.querySelectorAll<HTMLButtonElement>(`[data-zoom=${zoom}]`);
  [...found].slice(0, all ? 2 : 1).forEach((button) => button.click());
}
