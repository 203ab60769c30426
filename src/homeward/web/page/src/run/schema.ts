// The settings that the server accepts: their titles and limits, and those that have no place of their own in the form.

import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { API, getJson } from "../api";
import type { Defaults } from "../api";
import { complain } from "../messages";
import { labelOf } from "../words";

/** The JSON Schema of a setting, as far as a field needs it. */
export interface Property {
  type?: string;
  anyOf?: Property[];
  enum?: string[];
  default?: unknown;
  title?: string;
  unit?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

interface Limits {
  min?: number;
  max?: number;
  step: number | "any";
  check: (text: string) => string; // why a text is out of these limits; "" if it is not
}

interface Schema {
  properties: Record<string, Property>;
  defaults?: Record<string, Defaults>; // by the name of a terrain without a file
}

const schemas = signal<Record<string, Schema> | null>(null);
const SIMPLE = ["integer", "number", "boolean", "string"];

/** Settings that have fields of their own, or none: a map is drawn, and its start is on it. */
const PLACED = new Set(
  `seed explorer algorithm floor recall delta home bases each_base back_within back_within_delta keep_in
  keep_in_delta distance energy limit size walls map terrain terrain_seed rows columns cell window climb
  descend roll sensor_range start targets truth keep_out obstacles pixel`.split(/\s+/),
);

export function loadSchemas(): void {
  if (schemas.value) return;
  getJson<NonNullable<typeof schemas.value>>(`${API}/kinds`)
    .then((loaded) => (schemas.value = loaded))
    .catch(complain);
}

/** Return the part of a schema that is not null. */
function plain(property: Property): Property {
  const some = property.anyOf?.filter(({ type }) => type !== "null") ?? [];
  return some.length === 1 ? { ...property, ...some[0], anyOf: [] } : property;
}

/** Return the name of a setting for people, and its unit if it has one. */
export function titled(kind: string | null, key: string): { label: string; unit?: string } {
  const { title = labelOf(key), unit } = schemas.value?.[kind ?? ""]?.properties[key] ?? {};
  return { label: title, ...(unit === undefined ? {} : { unit }) };
}

/** Return the default of a setting; undefined before the schemas are loaded. */
export function defaultOf(kind: string, key: string): unknown {
  return schemas.value?.[kind]?.properties[key]?.default;
}

/** Return the defaults of each terrain without a file; undefined before the schemas are loaded. */
export function defaultsOf(kind: string): Record<string, Defaults> | undefined {
  return schemas.value?.[kind]?.defaults;
}

/** Return the limits of a setting for its field; none before the schemas are loaded. */
export function limits(kind: string, key: string): Limits {
  const found = plain(schemas.value?.[kind]?.properties[key] ?? {});
  const min = found.minimum ?? found.exclusiveMinimum;
  const max = found.maximum ?? found.exclusiveMaximum;
  return {
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    step: found.type === "integer" ? 1 : "any",
    check: (text) => outOfLimits(found, text),
  };
}

/** Return why a number is not accepted for a setting; "" if it is, or if nothing is given. */
function outOfLimits(found: Property, text: string): string {
  if (!text.trim()) return "";
  const value = Number(text);
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = found;
  const low = minimum !== undefined ? `${minimum} or more` : above !== undefined ? `above ${above}` : "";
  const high = maximum !== undefined ? `at most ${maximum}` : below !== undefined ? `below ${below}` : "";
  const small = value < (minimum ?? -Infinity) || value <= (above ?? -Infinity);
  const large = value > (maximum ?? Infinity) || value >= (below ?? Infinity);
  return small || large ? `Give a number ${[low, high].filter(Boolean).join(" and ")}.` : "";
}

export interface Other {
  key: string;
  property: Property;
  value: Signal<string>; // "" for the default
}

const values = new Map<string, Signal<string>>(); // by kind and key

/** Return the settings of a kind that have no place of their own in the form. */
export function others(kind: string): Other[] {
  const found = Object.entries(schemas.value?.[kind]?.properties ?? {});
  return found.flatMap(([key, given]) => {
    const property = plain(given);
    const simple = property.enum !== undefined || SIMPLE.includes(property.type ?? "");
    if (PLACED.has(key) || !simple) return [];
    const name = `${kind}/${key}`;
    const value = values.get(name) ?? signal("");
    values.set(name, value);
    return [{ key, property, value }];
  });
}

/** Return the settings among them that were given, as keys of a configuration. */
export function othersGiven(kind: string): Record<string, unknown> {
  const given = others(kind).filter(({ value }) => value.value.trim() !== "");
  return Object.fromEntries(
    given.map(({ key, property, value }) => {
      const text = value.value.trim();
      if (property.type === "boolean") return [key, text === "true"];
      return [key, property.enum || property.type === "string" ? text : Number(text)];
    }),
  );
}
