/**
 * Checks in a simulation what becomes of the events that tasks are sent: each
 * resumes its task once, or is kept until the run ends or it is too old.
 *
 * @module
 */

import { isFinal, type Task } from "../../domain/task.ts";
import { freshEvents, type KeptEvent } from "../../domain/wait.ts";

/** Checks the waits of tasks. Each event of a simulation has data of its own. */
export class WaitLedger {
  readonly #broken: (what: string) => void;
  /** The events that have resumed tasks, by the task and their data. */
  readonly #taken = new Set<string>();
  /** How many waits have ended in each way. */
  readonly ends: Record<string, number> = {};

  /** Takes the function that records broken promises. */
  constructor(broken: (what: string) => void) {
    this.#broken = broken;
  }

  /** Checks a task that was written. */
  check(previous: Task | undefined, next: Task): void {
    const { id, status, isDue, wait, run } = next;
    if (wait?.for !== undefined) {
      const isAsleep = !isDue &&
        (status === "scheduled" || status === "paused");
      if (!isAsleep) this.#broken(`${id} waits and is ${status}`);
    }
    if (isFinal(status) && wait !== undefined) {
      this.#broken(`${id} is ${status} and has a wait`);
    }
    const resumed = wait?.resumed;
    const isNew = resumed !== undefined &&
      JSON.stringify(resumed) !== JSON.stringify(previous?.wait?.resumed);
    if (isNew) {
      this.ends[resumed.kind] = (this.ends[resumed.kind] ?? 0) + 1;
      if (resumed.kind === "event") this.#take(id, resumed);
    }
    if (previous === undefined || isFinal(status) || run !== previous.run) {
      return;
    }
    const there = [...wait?.events ?? [], resumed]
      .map((event) =>
        event !== undefined && "dataJson" in event ? event.dataJson : ""
      );
    for (
      const { dataJson } of freshEvents(
        previous.wait?.events,
        next.updatedAtMs,
      )
    ) {
      if (there.includes(dataJson)) continue;
      this.#broken(`${id} has lost the event ${dataJson}`);
    }
  }

  #take(id: string, { dataJson }: KeptEvent): void {
    const name = `${id} ${dataJson}`;
    if (this.#taken.has(name)) {
      this.#broken(`${id} was resumed twice by the event ${dataJson}`);
    }
    this.#taken.add(name);
  }
}
