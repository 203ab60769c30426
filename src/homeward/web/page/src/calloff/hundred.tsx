// A hundred worlds as dots: in which the rover comes home, in which it falls, which are impossible.

export type Fate = "waiting" | "home" | "lost" | "gone";

const WORDS: Record<Fate, string> = {
  waiting: "possible worlds",
  home: "came home",
  lost: "lost",
  gone: "worlds impossible by now",
};

export function Hundred({ fates }: { fates: Fate[] }) {
  const counted = (Object.keys(WORDS) as Fate[])
    .map((fate) => ({ fate, count: fates.filter((each) => each === fate).length }))
    .filter(({ count }) => count > 0);
  const said = counted.map(({ fate, count }) => `${count} ${WORDS[fate]}`).join(", ");
  return (
    <figure class="hundred">
      <svg viewBox="0 0 100 50" role="img" aria-label={`Of ${fates.length} worlds: ${said}`}>
        {fates.map((fate, i) => (
          <circle key={i} class={fate} cx={2.5 + (i % 20) * 5} cy={5 + Math.floor(i / 20) * 10} r="1.9" />
        ))}
      </svg>
      <figcaption class="fine soft row">
        {counted.map(({ fate, count }) => (
          <span key={fate} class={`fate ${fate}`}>
            <b>{count}</b> {WORDS[fate]}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
