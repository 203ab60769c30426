// Changes of the list of runs.

import { doubt } from "../messages";
import { listen } from "../stream";

export interface News {
  begun: boolean; // the first after the stream was opened; earlier changes are not reported
  changed: string[];
  gone: string[];
}

/** Listen to changes of the list; return what ends that. */
export function onList(listener: (news: News) => void): () => void {
  let begun = true;
  return listen({
    begun: () => void (begun = true),
    broken: doubt,
    runs: ({ changed, gone }) => {
      listener({ changed, gone, begun });
      begun = false;
    },
  });
}
