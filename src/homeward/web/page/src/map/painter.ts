// Requests to the map's worker and its answers.

import { key } from "../key";
import { complain } from "../messages";
import type { Answer, Ask } from "./worker";

type Heard = (answer: Answer) => void;
type WithoutTicket<T> = T extends { ticket: number } ? Omit<T, "ticket"> : T;

const BROKEN = "The map's worker failed. Load the page again.";

function refused(ticket: number): Answer {
  return { kind: "refused", ticket, step: 0, error: BROKEN, status: 0, code: null };
}

class Painter {
  private readonly worker = new Worker(new URL("worker.js", import.meta.url), {
    type: "module",
    name: key(),
  });
  private readonly waiting = new Map<number, Heard>();
  private tickets = 0;
  private broken = false;

  constructor() {
    this.worker.onmessage = (event: MessageEvent<Answer>) => {
      const heard = this.waiting.get(event.data.ticket);
      this.waiting.delete(event.data.ticket);
      heard?.(event.data);
    };
    this.worker.onerror = () => {
      this.broken = true;
      complain(BROKEN);
      for (const [ticket, heard] of this.waiting) heard(refused(ticket));
      this.waiting.clear();
    };
  }

  ask(question: WithoutTicket<Exclude<Ask, { kind: "forget" }>>): Promise<Answer> {
    const ticket = ++this.tickets;
    if (this.broken) return Promise.resolve(refused(ticket));
    return new Promise((resolve) => {
      this.waiting.set(ticket, resolve);
      this.worker.postMessage({ ...question, ticket });
    });
  }

  forget(run: string): void {
    this.worker.postMessage({ kind: "forget", run } satisfies Ask);
  }
}

let only: Painter | null = null;

/** Return the only worker, started when it is first needed. */
export function painter(): Painter {
  only ??= new Painter();
  return only;
}
