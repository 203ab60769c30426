// The key of the server: `/?token=…` leads here with it. It is kept where only pages of this very
// address and port can read it, unlike a cookie, which every server on this machine would be sent.

import { store, stored } from "./storage";

const KEPT = "homeward.key";
let known: string | null = null;

/** Return the key; "" if the server has none. A worker has it as its name. */
export function key(): string {
  if (typeof window === "undefined") return self.name;
  known ??= taken() ?? stored(KEPT);
  return known ?? "";
}

/** Take the key from the address, so that a link can be sent on without it; what follows # stays. */
function taken(): string | null {
  const found = new URLSearchParams(location.search).get("key");
  if (found !== null) {
    store(KEPT, found);
    history.replaceState(null, "", location.pathname + location.hash);
  }
  return found;
}
