// The page: a header, one line for messages, and the view that the link names.

import "./styles/base.css";
import "./styles/player.css";
import "./styles/watch.css";
import "./styles/pages.css";
import { effect, signal } from "@preact/signals";
import { Component, render } from "preact";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { textOf } from "./api";
import { key } from "./key";
import { parse, placeOf, to } from "./link";
import type { Link, Page } from "./link";
import { hush, locked, message } from "./messages";
import { CallOffPage } from "./pages/calloff";
import { DrawPage } from "./pages/draw";
import { Help, helping } from "./pages/help";
import { TEXT_FIELDS } from "./pages/keys";
import { letterKeys } from "./pages/letters";
import { NewPage } from "./pages/new";
import { FrontPage } from "./pages/front";
import { StoriesPage } from "./pages/stories";
import { ComparePage, RunPage } from "./pages/watch";
import { IconButton } from "./parts/icons";
import { Later } from "./parts/later";
import { dark, nextTheme } from "./parts/theme";

key(); // it leaves the address also where a view asks the server for nothing
const link = signal(parse(location.hash));
window.addEventListener("hashchange", () => {
  hush();
  const before = link.value;
  const started = before.page === "new" || before.page === "draw";
  link.value = { ...parse(location.hash), started };
  if (placeOf(link.value) !== placeOf(before)) window.setTimeout(() => focusOn("#main h1"));
});

const PAGES: [Page, string][] = [
  ["runs", "Runs"],
  ["new", "New run"],
  ["draw", "Draw a world"],
  ["calloff", "Call it off"],
  ["stories", "Counter-examples"],
];

effect(() => {
  const { page, runs } = link.value;
  const title = runs.length ? runs.join(" and ") : PAGES.find(([each]) => each === page)?.[1];
  document.title = `${title ?? "Runs"} · Homeward`;
});

function focusOn(selector: string): void {
  const element = document.querySelector<HTMLElement>(selector);
  element?.setAttribute("tabindex", "-1");
  element?.focus({ preventScroll: true });
}

function Header() {
  const page = link.value.page;
  return (
    <header class="top">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault(); // the address holds the link
          focusOn("#main");
        }}
      >
        Skip to the view
      </a>
      <a class="brand" href={to("runs")}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" />
          <path d="M7 16.5 16 8l9 8.5M10 14.5V24h4.5v-5.5h3V24H22v-9.5" />
        </svg>
        Homeward
      </a>
      <nav aria-label="Pages">
        {PAGES.map(([each, title]) => (
          <a key={each} href={to(each)} aria-current={page === each ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <span class="grow" />
      <IconButton
        icon={dark.value ? "sun" : "moon"}
        label={dark.value ? "Use light colours" : "Use dark colours"}
        onClick={nextTheme}
      />
      <button
        class="quiet"
        aria-label="Help: glossary and keys"
        title="Glossary and keys (?)"
        onClick={() => (helping.value = true)}
      >
        ?
      </button>
    </header>
  );
}

function Messages() {
  const said = message.value;
  return (
    <div class="messages">
      <div role="status" aria-live="polite">
        {said && !said.wrong && <p class="message">{said.text}</p>}
      </div>
      <div role="alert">
        {said?.wrong && (
          <p class="message wrong">
            {said.text}
            <IconButton icon="close" label="Close this message" onClick={hush} />
          </p>
        )}
      </div>
    </div>
  );
}

const VIEWS: Record<Page, ComponentType<{ link: Link }>> = {
  run: RunPage,
  compare: ComparePage,
  new: NewPage,
  draw: DrawPage,
  calloff: CallOffPage,
  stories: StoriesPage,
  runs: FrontPage,
};

function View() {
  const here = link.value;
  if (locked.value) {
    return (
      <main class="missing stack" id="main">
        <h1>This browser has no token</h1>
        <p>
          Open the address that <code>homeward serve</code> printed, which has the token. Then open this link
          again.
        </p>
      </main>
    );
  }
  const Page = VIEWS[here.page];
  return <Page key={placeOf(here)} link={here} />;
}

/** Shows an error of a view in its place and keeps the header usable. */
class Guard extends Component<{ children: ComponentChildren; place: string }, { error: string }> {
  override state = { error: "" };

  override componentDidCatch(cause: unknown): void {
    this.setState({ error: textOf(cause) });
  }

  override componentDidUpdate(before: { place: string }): void {
    if (before.place !== this.props.place && this.state.error) this.setState({ error: "" });
  }

  render() {
    if (!this.state.error) return this.props.children;
    return (
      <main class="missing stack" id="main">
        <h1>This view failed</h1>
        <p>{this.state.error}</p>
        <a class="button" href={to("runs")}>
          All runs
        </a>
      </main>
    );
  }
}

function App() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.key === "?" && letterKeys.value && !target.matches(TEXT_FIELDS)) {
        helping.value = !helping.value;
        event.preventDefault();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <Header />
      <Messages />
      <Guard place={placeOf(link.value)}>
        <Later>
          <View />
        </Later>
      </Guard>
      <Help />
    </>
  );
}

const root = document.getElementById("page");
if (root) {
  // In a task of its own, so that none is long.
  window.setTimeout(() => {
    root.textContent = "";
    render(<App />, root);
  });
}
