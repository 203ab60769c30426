// The view as a PNG: the map as it is on view, with title and legend.

import type { Details } from "../api";
import type { Shown } from "../map/worker";
import { explorerName, worldOf } from "../words";
import { HOUSE, MARK_COLOURS } from "../map/colours";
import { drawTarget } from "../map/targets";
import { keyOf, marksOf } from "./legend";
import type { Key } from "./legend";
import { colour } from "./theme";

const FONT = "system-ui, sans-serif";
const [EDGE, HEAD, LINE, TICKS] = [16, 64, 26, 14]; // px
const BAR = 220; // px

/** Save a picture of a map; return the file's name. */
export async function savePicture(
  map: HTMLCanvasElement,
  details: Details,
  shown: (Shown | null)[],
  step: number,
): Promise<string> {
  const ratio = map.width / Math.max(1, map.clientWidth);
  const keys = shown.flatMap((each) => (each ? (keyOf(details, each) ?? []) : []));
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser can't draw on a canvas.");
  const room = map.clientWidth - 2 * EDGE;
  const groups = [...keys.map((key) => piecesOf(context, key, room)), marks(context, details)];
  const lines = groups.flatMap((pieces) => wrapped(pieces, room));
  const foot = lines.reduce((sum, line) => sum + heightOf(line), 2 * EDGE);
  canvas.width = map.width;
  canvas.height = Math.round(map.height + (HEAD + foot) * ratio);
  context.fillStyle = colour("paper");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(map, 0, HEAD * ratio);
  context.scale(ratio, ratio);
  context.textBaseline = "middle";
  context.font = `600 18px ${FONT}`;
  context.fillStyle = colour("ink");
  context.fillText(details.id, EDGE, 24, room);
  context.font = `13px ${FONT}`;
  context.fillStyle = colour("soft");
  const level = details.delta === null ? "" : `, δ = ${details.delta}`;
  const when = `after ${step} ${step === 1 ? "step" : "steps"}`;
  context.fillText(
    `${worldOf(details)}; ${explorerName(details.explorer)}${level}; ${when}`,
    EDGE,
    47,
    room,
  );
  let y = HEAD + map.clientHeight + EDGE;
  for (const line of lines) {
    let x = EDGE;
    for (const piece of line) {
      piece.paint(x, y + LINE / 2);
      x += piece.wide;
    }
    y += heightOf(line);
  }
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The picture could not be made.");
  const name = `${details.id}-${step}.png`;
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  window.setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
  return name;
}

/** A part of the legend that is not to be broken. */
interface Piece {
  wide: number; // px, with the gap after it
  ticked?: boolean; // whether it has numbers below it
  paint: (x: number, y: number) => void; // its left edge, and the middle of its line
}

function heightOf(line: Piece[]): number {
  return line.some((piece) => piece.ticked) ? LINE + TICKS : LINE;
}

/** Break pieces into lines of at most so many px. */
export function wrapped<T extends { wide: number }>(pieces: T[], room: number): T[][] {
  const lines: T[][] = [];
  let left = 0;
  for (const piece of pieces) {
    const line = lines[lines.length - 1];
    if (line && piece.wide <= left) line.push(piece);
    else {
      lines.push([piece]);
      left = room;
    }
    left -= piece.wide;
  }
  return lines;
}

function piecesOf(context: CanvasRenderingContext2D, key: Key, room: number): Piece[] {
  const heading = key.unit ? `${key.title} in ${key.unit}` : key.title;
  context.font = `600 13px ${FONT}`;
  const pieces: Piece[] = [
    {
      wide: context.measureText(heading).width + 20,
      paint: (x, y) => {
        context.font = `600 13px ${FONT}`;
        context.fillStyle = colour("ink");
        context.fillText(heading, x, y, room);
      },
    },
  ];
  if (key.bar) pieces.push(barPiece(context, key.bar, Math.min(BAR, room - 24)));
  for (const { colour: filling, text } of key.swatches) {
    pieces.push(
      labelled(context, text, (x, y) => {
        context.fillStyle = filling;
        context.fillRect(x, y - 7, 14, 14);
        context.strokeStyle = colour("soft");
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, y - 6.5, 13, 13);
      }),
    );
  }
  return pieces;
}

function barPiece(
  context: CanvasRenderingContext2D,
  bar: NonNullable<Key["bar"]>,
  wide: number,
): Piece {
  return {
    wide: wide + 40,
    ticked: true,
    paint: (left, y) => {
      const x = left + 12; // room for half of the first number
      const stops = bar.colours.split(", ");
      const fill = context.createLinearGradient(x, 0, x + wide, 0);
      stops.forEach((stop, i) => fill.addColorStop(i / (stops.length - 1), stop));
      context.fillStyle = fill;
      context.fillRect(x, y - 7, wide, 12);
      context.font = `12px ${FONT}`;
      context.fillStyle = colour("soft");
      context.textAlign = "center";
      for (const tick of bar.ticks) context.fillText(tick.text, x + tick.at * wide, y + 16);
      context.textAlign = "left";
    },
  };
}

/** Return a sign of 20 px with its label. */
function labelled(
  context: CanvasRenderingContext2D,
  text: string,
  sign: (x: number, y: number) => void,
): Piece {
  context.font = `12px ${FONT}`;
  return {
    wide: context.measureText(text).width + 42,
    paint: (x, y) => {
      sign(x, y);
      context.font = `12px ${FONT}`;
      context.fillStyle = colour("soft");
      context.fillText(text, x + 26, y);
    },
  };
}

/** Return the marks as they are drawn on the map. */
function marks(context: CanvasRenderingContext2D, details: Details): Piece[] {
  const { ink, here, way } = MARK_COLOURS;
  const disc = (x: number, y: number, radius: number, fill: string, edge: string): void => {
    context.beginPath();
    context.arc(x + 10, y, radius, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = edge;
    context.lineWidth = 2;
    context.stroke();
  };
  const stroke = (x: number, y: number, edge: string, width: number, dash: number[]): void => {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + 20, y);
    context.strokeStyle = edge;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
  };
  return marksOf(details).map(({ mark, text }) =>
    labelled(context, text, (x, y) => {
      if (mark === "here") disc(x, y, 6, here, "#fff");
      else if (mark === "start") {
        disc(x, y, 7, "#fff", "#fff"); // the ring is dark, and so may the paper be
        disc(x, y, 6, "#fff", ink);
      } else if (mark === "reached" || mark === "unreached") drawTarget(context, [x + 10, y], 9, mark === "reached");
      else if (mark === "way") stroke(x, y, way, 3, [6, 4]);
      else if (mark === "contour") stroke(x, y, way, 2, []);
      else if (mark === "heads") stroke(x, y, here, 3, [3, 4]);
      else if (mark === "path") {
        stroke(x, y, "#fff", 5, []);
        stroke(x, y, ink, 3, []);
      } else {
        disc(x, y, 10, "#fff", way);
        context.translate(x + 10, y);
        context.stroke(new Path2D(HOUSE));
        context.translate(-x - 10, -y);
      }
    }),
  );
}
