// Ask for what is wanted now. While one question is under way, later ones replace each other, so
// that a fast cursor never queues work and never starves.

import { complain } from "../messages";

export class Latest<Q> {
  private going = false;
  private next: Q | undefined;

  constructor(private readonly answer: (question: Q) => Promise<void>) {}

  ask(question: Q): void {
    if (this.going) {
      this.next = question;
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
