// A dialog with the glossary and the keys.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { letterKeys, switchLetterKeys } from "./letters";

export const helping = signal(false);


const TERMS: [string, string][] = [
  ["way home", "A return policy from a cell; its value v is a lower bound of its success probability."],
  ["bonus", "How much the planner expects to learn at a place."],
  [
    "safety level δ",
    "The least probability that the explorer can return home after a recall. It holds for the whole run, or for each plan with the paper's algorithm.",
  ],
  [
    "recall",
    "Exploration ends and the explorer returns home. A recall may happen at any time; with the paper's algorithm after each step with probability 1 − γ, unless a number of steps is set.",
  ],
  [
    "discount γ",
    "With the paper's algorithm: the probability that exploration continues after a step, and the weight of a reward one step later.",
  ],
  ["proven bound", "A lower bound of the true probability, under the explorer's belief."],
  [
    "correction",
    "An amount that is subtracted from a probability of the mean model, so that the result is a proven lower bound.",
  ],
  [
    "one more percent would cost",
    "About how much exploration value the plan would lose if it had to be safer by 0.01.",
  ],
  [
    "the plan draws its policy once",
    "The best plan may be a mixture: one of several policies is drawn at random and then followed. The explorer instead takes the safest first move of these policies.",
  ],
  [
    "e and s",
    "For the chosen move: e is the rate of what it pursues; for others, the best rate of a single look after it. A way home that would spend more than 0.1 % of the risk that is left has a price, which is subtracted: what is above 0.1 %, as a share of all that is left to learn. s is the proven probability of returning home after the move. With the paper's algorithm: its exploration and safety values if the plan is followed afterwards.",
  ],
  [
    "entropy",
    "The uncertainty about the heights. On grids it is in bits. On terrain the plot shows its reduction in nats (1 nat is 1.44 bits).",
  ],
];

const KEYS: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "previous or next step; with Shift ten steps"],
  ["Home End", "first or last step"],
  ["s f", "slower, faster"],
  ["1 … 9", "layer of the map"],
  ["+ − 0", "zoom in, zoom out, whole map"],
  ["arrows on the map", "select a cell; with Shift move the map"],
  ["Enter on the map", "show the way home of the cell; Esc hides it"],
  ["?", "this help"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helping.value;
  // Before the next event, since a close event of the dialog may still be pending.
  useLayoutEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  const closed = (): void => {
    if (!dialog.current?.open) helping.value = false; // else it was opened again since
  };
  return (
    <dialog ref={dialog} aria-label="Glossary and keys" onClose={closed}>
      <header>
        <h2>Glossary</h2>
        <button class="main" onClick={() => (helping.value = false)}>
          Close
        </button>
      </header>
      <Definitions name="words" entries={TERMS} />
      <h2>Keys</h2>
      <label class="row">
        <input
          type="checkbox"
          checked={letterKeys.value}
          onChange={(event) => switchLetterKeys(event.currentTarget.checked)}
        />
        Use single letters, digits and signs as keys
      </label>
      <Definitions name="keys" entries={KEYS.map(([key, text]) => [<kbd>{key}</kbd>, text])} />
    </dialog>
  );
}

function Definitions({ name, entries }: { name: string; entries: [ComponentChildren, string][] }) {
  return (
    <dl class={`${name} stack`}>
      {entries.map(([term, text]) => (
        <div key={text}>
          <dt>{term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
