// Sends one request at a time. While a request is running, only the newest further request waits, so
// requests never pile up when the cursor moves fast. `join` combines the waiting request with a newer one;
// by default the newer one replaces it.

import { complain } from "../messages";

export class Latest<Q> {
  private running = false;
  private next: Q | undefined;

  constructor(
    private readonly send: (request: Q) => Promise<void>,
    private readonly join: (waiting: Q, request: Q) => Q = (_, request) => request,
  ) {}

  ask(request: Q): void {
    if (this.running) {
      this.next = this.next === undefined ? request : this.join(this.next, request);
      return;
    }
    this.running = true;
    void this.run(request);
  }

  private async run(request: Q): Promise<void> {
    let current: Q | undefined = request;
    while (current !== undefined) {
      this.next = undefined;
      try {
        await this.send(current);
      } catch (cause) {
        complain(cause);
      }
      current = this.next;
    }
    this.running = false;
  }
}
