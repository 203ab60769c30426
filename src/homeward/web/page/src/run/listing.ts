// What happens to the list of runs: one stream for all who listen, and none while nobody looks at the
// page, since a browser has few connections to one server.

import { doubt } from "../messages";

export interface News {
  begun: boolean; // the stream has begun: what was before it is not told
  changed: string[];
  gone: string[];
}

type Heard = (news: News) => void;

const AGAIN = 3000; // ms until a stream that was refused is asked for again
const listeners = new Set<Heard>();
let source: EventSource | null = null;
let waiting = 0;

/** Listen to changes of the list; give what ends that. */
export function onList(heard: Heard): () => void {
  listeners.add(heard);
  if (listeners.size === 1) document.addEventListener("visibilitychange", attend);
  attend();
  return () => {
    listeners.delete(heard);
    if (!listeners.size) document.removeEventListener("visibilitychange", attend);
    attend();
  };
}

/** Open the stream or close it, as it is needed. */
function attend(): void {
  window.clearTimeout(waiting);
  if (!listeners.size || document.hidden) {
    source?.close();
    source = null;
  } else if (!source || source.readyState === EventSource.CLOSED) open();
}

function open(): void {
  const opened = new EventSource("/api/events");
  source = opened;
  let begun = true;
  opened.onopen = () => (begun = true);
  opened.addEventListener("runs", (event) => {
    const told = JSON.parse((event as MessageEvent<string>).data) as Omit<News, "begun">;
    listeners.forEach((heard) => heard({ ...told, begun }));
    begun = false;
  });
  opened.onerror = () => {
    doubt();
    if (opened.readyState !== EventSource.CLOSED) return;
    window.clearTimeout(waiting);
    waiting = window.setTimeout(attend, AGAIN);
  };
}
