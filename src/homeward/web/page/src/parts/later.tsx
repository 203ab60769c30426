// Parts of a view that wait for their turn.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Makes its children in a task of its own, so that no task of the page is long. */
export function Later({ children }: { children: ComponentChildren }) {
  const due = useSignal(false);
  useLayoutEffect(() => {
    const timer = window.setTimeout(() => (due.value = true));
    return () => window.clearTimeout(timer);
  }, []);
  return <>{due.value && children}</>;
}
