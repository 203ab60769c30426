// Ask for what is wanted now. While one question is under way, later ones replace each other, so
// that a fast cursor never queues work and never starves. `joined` says what two that wait become, if the
// later one is not enough.

import { complain } from "../messages";

export class Latest<Q> {
  private going = false;
  private next: Q | undefined;

  constructor(
    private readonly answer: (question: Q) => Promise<void>,
    private readonly joined: (waiting: Q, question: Q) => Q = (_, question) => question,
  ) {}

  ask(question: Q): void {
    if (this.going) {
      this.next = this.next === undefined ? question : this.joined(this.next, question);
      return;
    }
    this.going = true;
    void this.run(question);
  }

  private async run(question: Q): Promise<void> {
    let now: Q | undefined = question;
    while (now !== undefined) {
      this.next = undefined;
      try {
        await this.answer(now);
      } catch (cause) {
        complain(cause);
      }
      now = this.next;
    }
    this.going = false;
  }
}
