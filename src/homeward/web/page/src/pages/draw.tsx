// Draw a world: paint heights, walls and a start on a small grid, and run both explorers in it.

import { signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { complain, hush, message, tell } from "../messages";
import { Field, unfold } from "../parts/fields";
import { LevelSlider } from "../parts/level";
import { examples, loadExamples, startPair } from "../run/starting";
import { Board, Tools } from "./draw/board";
import * as paper from "./draw/drawing";

const level = signal(1);

async function begin(): Promise<void> {
  const map = paper.toText(paper.drawing.value);
  await startPair({ kind: "grid", config: { map, delta: level.value } });
}

function undo(): void {
  const what = paper.undo();
  if (what) tell(`Undone: ${what}.`);
}

/** Ctrl Z takes back what was drawn, but in a field that is being typed in its letters. */
function onKey(event: KeyboardEvent): void {
  const field = (event.target as Element).matches("input[type=number], textarea");
  if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey)) return;
  if (event.shiftKey || event.altKey || (field && paper.isTyping())) return;
  event.preventDefault();
  undo();
}

let scolding = ""; // what was last said against the text of the map

/** Load the text of a map or show its error; return whether it was loaded. */
function read(text: string): boolean {
  const found = paper.fromText(text);
  if (typeof found === "string") {
    scolding = found;
    complain(found);
    return false;
  }
  if (paper.toText(found) === paper.toText(paper.drawing.value)) paper.draft.value = null;
  else paper.load(found, "", "changing the text");
  return true;
}

export function DrawPage() {
  const busy = useSignal(false);
  const text = useRef<HTMLTextAreaElement>(null);
  const { drawing, draft, high, wide, story, LARGEST } = paper;
  useEffect(() => {
    loadExamples();
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  useSignalEffect(() => {
    if (paper.draft.value === null && message.peek()?.text === scolding) hush();
  });
  const run = (): void => {
    if (draft.value !== null && !read(draft.value)) {
      if (text.current) unfold(text.current);
      text.current?.focus();
      return;
    }
    busy.value = true;
    void begin().finally(() => (busy.value = false));
  };
  return (
    <main class="draw-page" id="main">
      <div class="stack">
        <h1>Draw a world</h1>
        <p class="lead">
          An explorer climbs one height at a time but can drop any depth, so it may enter a hole and
          never get out. It knows the walls, but sees a height only from a neighbouring square.
        </p>
        <Tools onUndo={undo} />
        <Board />
        <p class="soft">
          Keys: arrows move, 1 to 5 paint a height, # a wall, s the start; Ctrl+Z undoes.
        </p>
      </div>
      <div class="stack">
        <section class="card stack">
          <h2>Run both explorers</h2>
          <LevelSlider level={level} />
          <p class="soft">Home is the start.</p>
          <button class="main" disabled={busy.value} onClick={run}>
            {busy.value ? "Starting…" : "Run both and compare"}
          </button>
        </section>
        <section class="card stack">
          <h2>Worlds to start from</h2>
          <div class="examples row">
            {examples.value?.worlds.map((world) => (
              <button
                key={world.name}
                onClick={() => {
                  const found = paper.fromText(world.map);
                  if (typeof found !== "string") paper.load(found, world.story);
                  else complain(`The example ${world.title} can't be read. ${found}`);
                }}
              >
                {world.title}
              </button>
            ))}
            <button onClick={paper.scatter}>At random</button>
            <button onClick={() => paper.load(paper.FIRST, "")}>A crater</button>
          </div>
          {story.value && <p aria-live="polite">{story.value}</p>}
        </section>
        <details class="card">
          <summary>Size, and the map as text</summary>
          <div class="fields">
            {(
              [
                ["Rows", high],
                ["Columns", wide],
              ] as const
            ).map(([label, value]) => (
              <Field
                key={label}
                label={label}
                value={value}
                min={2}
                max={LARGEST}
                step={1}
                hint={`2 to ${LARGEST}; squares that are cut off come back when it grows`}
                onCommit={paper.resize}
              />
            ))}
          </div>
          <label class="field fine">
            <span>1 to 5: heights, #: wall, a to e: the start on height 1 to 5</span>
            <textarea
              ref={text}
              rows={Math.min(16, drawing.value.rows.length + 1)}
              spellcheck={false}
              value={draft.value ?? paper.toText(drawing.value)}
              onInput={(event) => (draft.value = event.currentTarget.value)}
              onChange={(event) => read(event.currentTarget.value)}
            />
          </label>
        </details>
      </div>
    </main>
  );
}
