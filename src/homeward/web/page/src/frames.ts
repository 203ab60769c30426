// Frames: one binary answer with named arrays, see docs/http-api.md.

export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array;

export interface FrameArray {
  data: Numbers;
  shape: number[];
  min: number | null;
  max: number | null;
}

/** Where the cells of a preview lie, see docs/http-api.md. */
export interface Where {
  cell?: [number, number]; // m, height and width
  transform?: [number, number, number, number, number, number];
  start?: [number, number] | null; // row and column of the start unless one is given; null if not computed
}

/** What the answer says beside its arrays; each is there in frames of its kind. */
export interface Facts {
  total?: number; // steps that are recorded
  known_at_start?: number | null; // of records: what was known before the first step
  trapped?: number | null; // of records: the step after which there was no way home
  since?: number; // of layers: the step that they differ from
  scales?: Record<string, [number, number] | null>; // of layers: ends of their colour scales
}

interface Head extends Where, Facts {
  arrays: (Omit<FrameArray, "data"> & { name: string; dtype: string; offset: number })[];
}

const MAGIC = 0x31465748; // "HWF1", little-endian

/** Read a frame. Arrays are views of `buffer` where they are aligned, copies where they are not. */
export function decode(buffer: ArrayBuffer): Where & Facts & { arrays: Map<string, FrameArray> } {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC) {
    throw new Error("The server sent something that is no frame.");
  }
  const length = view.getUint32(4, true);
  const body = Math.ceil((8 + length) / 8) * 8;
  if (body > buffer.byteLength) throw new Error("The server's frame is cut short.");
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as Head;
  const arrays = new Map<string, FrameArray>();
  for (const entry of head.arrays) {
    const count = entry.shape.reduce((product, side) => product * side, 1);
    arrays.set(entry.name, { ...entry, data: numbers(buffer, entry, body + entry.offset, count) });
  }
  return { ...head, arrays };
}

function numbers(
  buffer: ArrayBuffer,
  { name, dtype }: Head["arrays"][number],
  at: number,
  count: number,
): Numbers {
  const make = { float32: Float32Array, float64: Float64Array, int32: Int32Array, uint8: Uint8Array }[dtype];
  if (!make) throw new Error(`The array ${name} has the unknown type ${dtype}.`);
  const bytes = count * make.BYTES_PER_ELEMENT;
  if (at + bytes > buffer.byteLength) throw new Error(`The array ${name} is cut short.`);
  return at % make.BYTES_PER_ELEMENT
    ? new make(buffer.slice(at, at + bytes))
    : new make(buffer, at, count);
}
