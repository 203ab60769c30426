// Icons, hidden from screen readers, and buttons that show one.

import type { JSX } from "preact";

const PATHS = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z",
  back: "M16 5 8 12l8 7zM6 5h1.8v14H6z",
  on: "M8 5l8 7-8 7zM16.2 5H18v14h-1.8z",
  plus: "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z",
  less: "M5 11h14v2H5z",
  fit: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  save: "M11 4h2v9l3.5-3.5L18 11l-6 6-6-6 1.5-1.5L11 13zM5 18h14v2H5z",
  link: "M10 13.5a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1 1.4 1.4 1-1a2 2 0 0 1 2.9 2.9l-3 3a2 2 0 0 1-2.9 0zm4-3a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 19.2l1-1-1.4-1.4-1 1a2 2 0 0 1-2.9-2.9l3-3a2 2 0 0 1 2.9 0z",
  close:
    "M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  sun: "M12 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM11 2h2v3h-2zM11 19h2v3h-2zM2 11h3v2H2zM19 11h3v2h-3zM4.2 5.600l1.4-1.4 2.1 2.1-1.4 1.4zM16.3 17.700l1.4-1.4 2.1 2.1-1.4 1.4zM4.2 18.400l2.1-2.1 1.4 1.4-2.1 2.1zM16.3 6.300l2.1-2.1 1.4 1.4-2.1 2.1z",
} as const;

type IconName = keyof typeof PATHS;

function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

type ButtonProps = JSX.IntrinsicElements["button"];

/** A button with an icon; `label` is its accessible name, and its tooltip unless there is a title. */
export function IconButton({
  icon,
  label,
  ...rest
}: ButtonProps & { icon: IconName; label: string }) {
  return (
    <button class="quiet" aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </button>
  );
}
