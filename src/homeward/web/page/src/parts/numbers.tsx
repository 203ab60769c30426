// A table of numbers that scrolls by itself if it is wider than its place.

import type { ComponentChildren } from "preact";

interface NumbersProps {
  label: string;
  heads: ComponentChildren[]; // of the columns; a text column comes last
  text?: boolean; // whether the last column is text
  after?: ComponentChildren;
  children: ComponentChildren; // its rows
}

export function Numbers({ label, heads, text = false, after, children }: NumbersProps) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="numbers-table">
        <thead>
          <tr>
            {heads.map((head, i) => (
              <th scope="col" key={i} class={text && i === heads.length - 1 ? "text" : ""}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {after}
    </div>
  );
}
