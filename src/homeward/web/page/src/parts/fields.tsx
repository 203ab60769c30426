// Fields of a form.

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
  check?: (text: string) => string; // an error message, "" if the text is valid
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
    "aria-invalid": wrong !== "" && value.value.trim() !== "",
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
    <label class="field fine">
      <span>
        {label}
        {unit && <span class="unit"> in {unit}</span>}
      </span>
      {type === "number" && (
        <input type="number" min={props.min} max={props.max} step={props.step} {...shared} />
      )}
      {type === "text" && <input type="text" {...shared} />}
      {type === "lines" && <textarea rows={3} {...shared} />}
      {wrong && value.value.trim() && (
        <small class="wrong" role="alert">
          {wrong}
        </small>
      )}
      {hint && <small>{hint}</small>}
    </label>
  );
}

export function Check(props: { value: { value: boolean }; children: ComponentChildren }) {
  const { value, children } = props;
  return (
    <label class="check row">
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

/** A choice of one option; each is a value, a title and an explanation. */
export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <div class="choice stack" role="radiogroup" aria-label={label}>
      <span class="choice-label fine">{label}</span>
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
            <span class="soft fine">{text}</span>
          </label>
        ))}
      </div>
    </div>
  );
}

/** Open all folded sections around a field, which could not be focused otherwise. */
export function unfold(field: Element): void {
  const fold = field.closest("details");
  if (!fold) return;
  fold.open = true;
  if (fold.parentElement) unfold(fold.parentElement);
}
