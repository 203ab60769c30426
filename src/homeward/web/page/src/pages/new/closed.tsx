// A file that closes part of the terrain: obstacles, or an area to keep out of.

import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { upload, uploadArea } from "../../api";
import { attempt } from "../../messages";
import type { Closed } from "./settings";

interface ClosedFileProps {
  label: string;
  hint: string;
  value: Signal<Closed | null>;
  masks?: boolean; // whether a raster is accepted too
}

export function ClosedFile({ label, hint, value, masks = false }: ClosedFileProps) {
  const input = useRef<HTMLInputElement>(null);
  const busy = useSignal("");
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    value.value = null;
    busy.value = file.name;
    const raster = masks && !/json$/i.test(file.name);
    const made = await attempt<Closed>(() =>
      raster ? upload(file, null, () => undefined).done : uploadArea(file),
    );
    if (busy.value !== file.name) return; // another file was chosen meanwhile
    busy.value = "";
    value.value = made;
    if (input.current && !made) input.current.value = ""; // so that the same file can be chosen again
  };
  const remove = (): void => {
    value.value = null;
    if (input.current) input.current.value = "";
  };
  const closed = value.value;
  return (
    <label class="field fine closed-file">
      <span>{label}</span>
      <input
        ref={input}
        type="file"
        accept={masks ? ".geojson,.json,.tif,.tiff" : ".geojson,.json"}
        onChange={(event) => void take(event.currentTarget.files?.[0])}
      />
      <small aria-live="polite">
        {busy.value ? `Reading ${busy.value}…` : closed ? contentWord(closed) : hint}
      </small>
      {closed && (
        <button type="button" class="small" onClick={remove}>
          Remove {closed.name}
        </button>
      )}
    </label>
  );
}

function contentWord(closed: Closed): string {
  if ("shape" in closed) return `${closed.name}: ${closed.shape[0]} × ${closed.shape[1]} pixels.`;
  return `${closed.name}: ${closed.polygons === 1 ? "1 polygon" : `${closed.polygons} polygons`}.`;
}
