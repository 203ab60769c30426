// Fields of all settings that have no place of their own in the form, made from their schemas.

import { Field } from "../../parts/fields";
import { limits, others, titled } from "../../run/schema";
import type { Other } from "../../run/schema";
import type { Kind } from "./settings";

export function OtherSettings({ kind }: { kind: Kind }) {
  return (
    <>
      {others(kind).filter(({ key }) => key !== "wheelbase").map((other) =>
        optionsOf(other).length ? (
          <Options key={other.key} kind={kind} other={other} />
        ) : (
          <OtherField key={other.key} kind={kind} other={other} hint={hintOf(other)} />
        ),
      )}
    </>
  );
}

function OtherField({ kind, other, hint }: { kind: Kind; other: Other; hint: string }) {
  const { type } = other.property;
  const kept = type === "string" ? { type: "text" as const } : limits(kind, other.key);
  return <Field {...titled(kind, other.key)} value={other.value} {...kept} hint={hint} />;
}

/** The field of the wheelbase, which belongs to the vehicle; nothing before the settings are known. */
export function Wheelbase() {
  const other = others("rover").find(({ key }) => key === "wheelbase");
  return other ? <OtherField kind="rover" other={other} hint="2 m, or a pixel if that is larger" /> : null;
}

function Options({ kind, other }: { kind: Kind; other: Other }) {
  const { key, value } = other;
  return (
    <label class="field fine">
      <span>{titled(kind, key).label}</span>
      <select value={value.value} onChange={(event) => (value.value = event.currentTarget.value)}>
        <option value="">default</option>
        {optionsOf(other).map((option) => (
          <option key={option} value={option}>
            {{ true: "yes", false: "no" }[option] ?? option}
          </option>
        ))}
      </select>
      <small>{hintOf(other)}</small>
    </label>
  );
}

function optionsOf({ property }: Other): string[] {
  return property.type === "boolean" ? ["true", "false"] : (property.enum ?? []);
}

function hintOf({ property }: Other): string {
  const usual = property.default ?? null;
  const said = usual === null ? "" : ` Default: ${String(usual)}.`;
  const option = /--([a-z-]+)/g; // as the command line names it
  const text = (property.description ?? "").replace(option, (_, name: string) => name.replaceAll("-", " "));
  return `${text}${said}`.trim();
}
