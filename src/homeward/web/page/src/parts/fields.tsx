// Fields of a form, and how a wrong one comes on view.

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

type Box = HTMLInputElement | HTMLTextAreaElement;

interface FieldProps {
  label: string;
  value: Signal<string>;
  type?: "number" | "text" | "lines";
  unit?: string;
  hint?: string;
  required?: boolean;
  min?: number | undefined;
  max?: number | undefined;
  step?: number | "any" | undefined;
  check?: (text: string) => string; // a sentence where the text will not do, else ""
  onChange?: () => void; // with each letter
  onCommit?: () => unknown; // when it is left, or with Enter
}

export function Field(props: FieldProps) {
  const { label, value, type = "number", unit, hint, required = false, onChange, onCommit } = props;
  const box = useRef<Box | null>(null);
  const wrong = props.check?.(value.value) ?? "";
  useLayoutEffect(() => box.current?.setCustomValidity(wrong), [wrong]);
  const shared = {
    ref: (found: Box | null) => void (box.current = found),
    value: value.value,
    required,
    onInput: (event: { currentTarget: Box }) => {
      value.value = event.currentTarget.value;
      onChange?.();
    },
    ...(onCommit && {
      onChange: onCommit,
      onKeyDown: (event: KeyboardEvent) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        onCommit();
      },
    }),
  };
  return (
    <label class="field">
      <span>
        {label}
        {unit && <span class="unit"> in {unit}</span>}
      </span>
      {type === "number" && (
        <input type="number" min={props.min} max={props.max} step={props.step} {...shared} />
      )}
      {type === "text" && <input type="text" {...shared} />}
      {type === "lines" && <textarea rows={3} {...shared} />}
      {hint && <small>{hint}</small>}
    </label>
  );
}

interface CheckProps {
  value: Signal<boolean>;
  children: ComponentChildren;
}

export function Check({ value, children }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value.value}
        onChange={(event) => (value.value = event.currentTarget.checked)}
      />
      {children}
    </label>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: Signal<T>;
  options: [T, string, string][];
  onChange?: () => void;
}

export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      <span class="choice-label">{label}</span>
      <div class="options">
        {options.map(([option, title, text]) => (
          <label key={option} class={value.value === option ? "option on" : "option"}>
            <input
              type="radio"
              name={label}
              value={option}
              checked={value.value === option}
              onChange={() => {
                value.value = option;
                onChange?.();
              }}
            />
            <b>{title}</b>
            <span>{text}</span>
          </label>
        ))}
      </div>
    </div>
  );
}

/** Open whatever is folded around a field: what is folded can be neither focused nor complained of. */
export function unfold(field: Element): void {
  for (
    let fold = field.closest("details");
    fold;
    fold = fold.parentElement?.closest("details") ?? null
  )
    fold.open = true;
}
