// What the page's words mean, and the keys, in a dialog.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

export const helping = signal(false);

const WORDS: [string, string][] = [
  [
    "way home",
    "A policy that leads home from a cell; its value v is the proven chance that it works.",
  ],
  ["bonus", "What there is to see from a place, as the explorer counts it when it plans."],
  [
    "safety level δ",
    "The chance of coming home, whenever it is called off, that the whole run must keep; with the paper's algorithm each plan by itself.",
  ],
  [
    "called off",
    "Exploration ends and the explorer goes home, at whatever time; with the paper's algorithm after any step with the same small chance, 1 − γ, unless a number of steps is set.",
  ],
  [
    "discount γ",
    "With the paper's algorithm: the chance that exploration goes on after a step, and what a reward is worth that comes one step later.",
  ],
  [
    "proven bound",
    "The true chance is at least this, over all worlds that the explorer thinks possible, each as likely as it thinks.",
  ],
  [
    "correction",
    "What is taken off a chance because the plan is made on the mean of all possible worlds, so that what is left is proven.",
  ],
  [
    "one more percent would cost",
    "So much of its worth to explore the plan would give up, about, to be safer by 0.01.",
  ],
  [
    "the plan draws its policy once",
    "The best plan may be a mixture: one of its policies is drawn and then followed, never drawn anew; the explorer takes the safest first move among them instead.",
  ],
  [
    "e and s",
    "What a move leads to at best per step, and how surely there is a way home after it; with the paper's algorithm what it is worth and how safe it is, if the plan is followed afterwards.",
  ],
  [
    "entropy",
    "How much is unknown about the heights, in bits on grids; on terrain the plot says how much of it was taken off, in nats (a nat is 1.44 bits).",
  ],
];

const KEYS: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "one step back or on; with shift ten"],
  ["Home End", "the first or the last moment"],
  ["s f", "slower, faster"],
  ["1 … 9", "the layer of the map"],
  ["+ − 0", "zoom in, zoom out, the whole map"],
  ["arrows on the map", "point at a cell; with shift move the map"],
  ["Enter on the map", "draw the way home of the cell; Esc puts it away"],
  ["?", "this help: words and keys"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helping.value;
  // At once: a close that is still to be told of must find it open again.
  useLayoutEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  const closed = (): void => {
    if (!dialog.current?.open) helping.value = false; // else it was opened again since
  };
  return (
    <dialog ref={dialog} aria-label="Words and keys" onClose={closed}>
      <header>
        <h2>Words</h2>
        <button class="main" onClick={() => (helping.value = false)}>
          Close
        </button>
      </header>
      <dl class="words">
        {WORDS.map(([word, text]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
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
    </dialog>
  );
}
