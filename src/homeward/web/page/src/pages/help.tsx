// The keys, in a dialog.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export const helping = signal(false);

const KEYS: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "one step back or on; with shift ten"],
  ["Home End", "the first or the last moment"],
  ["s f", "slower, faster"],
  ["1 … 9", "the layer of the map"],
  ["+ − 0", "zoom in, zoom out, the whole map"],
  ["arrows on the map", "point at a cell; with shift move the map"],
  ["Enter on the map", "draw the way home of the cell; Esc puts it away"],
  ["?", "this help"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helping.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={() => (helping.value = false)}>
      <h2>Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <button class="main" onClick={() => (helping.value = false)}>
        Close
      </button>
    </dialog>
  );
}
