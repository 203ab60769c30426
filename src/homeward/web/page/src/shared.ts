// The shared worker of all tabs: it holds their one stream of events.

import { Hub } from "./hub";
import type { Said } from "./hub";

const hub = new Hub(() => self.name);

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = (event) => {
  const [port] = event.ports;
  if (!port) return;
  const hear = hub.join((told) => port.postMessage(told));
  port.onmessage = (message: MessageEvent<Said>) => hear(message.data);
};
