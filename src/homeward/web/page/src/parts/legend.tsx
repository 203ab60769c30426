// The legend of the map.

import type { Details } from "../api";
import { HEIGHTS, HOUSE, NO, STAR, YES, css, gradient, surroundings } from "../map/colours";
import type { Rgb } from "../map/colours";
import type { Range } from "../map/paint";
import type { Shown } from "../map/worker";
import { howOf, layerOf } from "../run/show";
import { DEFAULT_LEVEL } from "../run/show";
import { figure, isOfRun, levelName, mayBlock } from "../words";
import { dark } from "./theme";

export interface Key {
  title: string;
  unit: string;
  bar: { colours: string; ticks: { at: number; text: string }[] } | null; // at: 0 to 1
  swatches: { colour: string; text: string }[];
}

/** A layer and the ends of its scale. */
export type Coloured = Pick<Shown, "layer" | "range">;

/** Return the legend of a layer. */
export function keyOf(details: Details, shown: Coloured): Key | null {
  const layer = layerOf(details, shown.layer);
  if (!layer) return null;
  const how = howOf(layer);
  const unit = layer.unit ?? "";
  const seen = details.layers.some((each) => each.name === "seen");
  const around = surroundings(dark.value);
  if (how.way === "heights") {
    const swatches = HEIGHTS.map((colour, i) => ({ colour: css(colour), text: String(i + 1) }));
    swatches.push({ colour: css(around.wall), text: "wall" });
    if (layer.name === "height") swatches.push({ colour: css(around.unseen), text: "not yet seen" });
    return { title: layer.title, unit: "", bar: null, swatches };
  }
  if (how.way === "marks") {
    const named = (value: number): string | undefined =>
      layer.categories?.find((category) => category.value === value)?.title;
    const swatches = [swatch(YES, named(1) ?? "yes"), swatch(NO, named(0) ?? "no")];
    return { title: layer.title, unit: "", bar: null, swatches };
  }
  const log = how.way === "scale" && how.log;
  const bar = { colours: gradient(how.palette), ticks: ticksOf(shown.range, log) };
  const paler = how.way === "relief" && how.dims;
  const unseen = paler
    ? swatch([214, 205, 192], "paler: not yet seen")
    : swatch(dark.value ? [71, 79, 86] : [150, 153, 157], "not yet seen");
  const swatches = how.way === "relief" && seen ? [unseen] : [];
  const shut = details.kind === "grid" ? "wall" : "blocked";
  if (mayBlock(details)) swatches.push(swatch(around.wall, shut));
  return { title: layer.title, unit, bar, swatches };
}

type Mark = "here" | "path" | "heads" | "target" | "start" | "home" | "way" | "contour" | "reached" | "unreached";

/** Return the marks on a run's map with their labels. */
export function marksOf(details: Details): { mark: Mark; text: string }[] {
  const level = details.criteria.find(({ kind }) => kind === "return")?.level;
  const region = `way home ≥ ${levelName(level ?? DEFAULT_LEVEL)} inside, darker outside`;
  const apart = details.home !== null && details.home !== "current"; // else it is where one stands
  return [
    { mark: "here", text: "explorer" },
    { mark: "path", text: "path so far" },
    ...(isOfRun(details)
      ? [
          { mark: "heads" as const, text: "planned path" },
          { mark: "target" as const, text: "where it heads for" },
        ]
      : []),
    ...(details.home === "start" ? [] : [{ mark: "start" as const, text: "start" }]),
    ...(apart ? [{ mark: "home" as const, text: details.home === "start" ? "home, the start" : "home" }] : []),
    ...(details.targets.length
      ? [
          { mark: "reached" as const, text: "target, reached" },
          { mark: "unreached" as const, text: "target, not reached" },
        ]
      : []),
    { mark: "way", text: "way home" },
    ...(details.layers.some(({ name }) => name === "v")
      ? [{ mark: "contour" as const, text: level ? region : `${region}, not asked of this run` }]
      : []),
  ];
}

function swatch(colour: Rgb, text: string): { colour: string; text: string } {
  return { colour: css(colour), text };
}

/** Return round numbers along a scale, with their positions from 0 to 1. */
export function ticksOf({ low, high }: Range, log: boolean): { at: number; text: string }[] {
  if (!(high > low)) return [{ at: 0.5, text: figure(low, 3) }];
  if (log) {
    const span = Math.log(high / low);
    const found: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const digit of [1, 3]) found.push(digit * 10 ** power);
    }
    return found
      .filter((v) => v >= low && v <= high)
      .map((v) => ({ at: Math.log(v / low) / span, text: figure(v, 2) }));
  }
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough) ?? rough;
  const ticks: { at: number; text: string }[] = [];
  for (let v = Math.ceil(low / unit - 1e-9) * unit; v <= high + unit * 1e-9; v += unit) {
    ticks.push({
      at: (v - low) / (high - low),
      text: figure(Math.abs(v) < unit * 1e-9 ? 0 : v, 4),
    });
  }
  return ticks;
}

export function Legend({ details, shown }: { details: Details; shown: (Coloured | null)[] }) {
  const keys = shown.flatMap((each) => (each ? (keyOf(details, each) ?? []) : []));
  return (
    <div class="legend row fine" role="group" aria-label="Legend">
      {keys.map((key) => (
        <div class="key row" key={key.title}>
          <span class="key-title">
            {key.title}
            {key.unit && <span class="unit"> in {key.unit}</span>}
          </span>
          {key.bar && (
            <span class="bar-box">
              <span
                class="bar"
                style={{ background: `linear-gradient(to right, ${key.bar.colours})` }}
              />
              <span class="ticks">
                {key.bar.ticks.map((tick) => (
                  <span key={tick.text} style={{ left: `${100 * tick.at}%` }}>
                    {tick.text}
                  </span>
                ))}
              </span>
            </span>
          )}
          <span class="row">
            {key.swatches.map((each) => (
              <span class="swatch" key={each.text}>
                <i style={{ background: each.colour }} />
                {each.text}
              </span>
            ))}
          </span>
        </div>
      ))}
      <div class="key row marks">
        {marksOf(details).map(({ mark, text }) => (
          <span class="swatch" key={mark}>
            {mark === "home" ? (
              <svg class="mark-home" viewBox="-11 -11 22 22" aria-hidden="true">
                <circle r="10" />
                <path d={HOUSE} />
              </svg>
            ) : mark === "reached" || mark === "unreached" ? (
              <svg class={`mark-star ${mark}`} viewBox="-11 -11 22 22" aria-hidden="true">
                <path d={STAR} />
              </svg>
            ) : (
              <i class={`mark-${mark}`} />
            )}
            {text}
          </span>
        ))}
        {details.shape && (
          <span class="soft">arrows: possible moves; longer ones tell more, red ones are refused</span>
        )}
      </div>
    </div>
  );
}
