// Changes of the list of runs: one stream for all listeners, closed while the page is hidden, since a
// browser has few connections to one server.

import { listen } from "../api";
import { doubt } from "../messages";

export interface News {
  begun: boolean; // the first after the stream was opened; earlier changes are not reported
  changed: string[];
  gone: string[];
}

type Listener = (news: News) => void;

const listeners = new Set<Listener>();
let stop: (() => void) | null = null;
let begun = true;

/** Listen to changes of the list; return what ends that. */
export function onList(listener: Listener): () => void {
  listeners.add(listener);
  if (listeners.size === 1) document.addEventListener("visibilitychange", attend);
  attend();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) document.removeEventListener("visibilitychange", attend);
    attend();
  };
}

/** Open or close the stream, as it is needed. */
function attend(): void {
  if (!listeners.size || document.hidden) {
    stop?.();
    stop = null;
  } else stop ??= listen("/api/events", { runs: report }, doubt, () => void (begun = true));
}

function report(news: Omit<News, "begun">): void {
  listeners.forEach((listener) => listener({ ...news, begun }));
  begun = false;
}
