/**
 * What a server says of the health of its services.
 *
 * @module
 */

import { SERVING_STATUS } from "../../../proto/health.ts";
import type { ServingStatus } from "../../../proto/health.ts";

/** What a service can be set to; `SERVICE_UNKNOWN` is only told, never set. */
export type SettableStatus = Exclude<
  ServingStatus,
  typeof SERVING_STATUS.SERVICE_UNKNOWN
>;

/** How a board is bounded. */
export interface HealthBoardOptions {
  /**
   * How many may watch at a time.
   *
   * @default 10000
   */
  readonly maxWatchers?: number;
}

/**
 * The statuses of services by name. The empty name stands for the server as a
 * whole and is always `SERVING`: who asks by it wants to know whether somebody
 * answers, and that holds while the server drains.
 */
export class HealthBoard {
  readonly #statuses = new Map<string, SettableStatus>([
    ["", SERVING_STATUS.SERVING],
  ]);
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #maxWatchers: number;
  #watcherCount = 0;

  /** A board that knows the empty name only. */
  constructor(options: HealthBoardOptions = {}) {
    this.#maxWatchers = options.maxWatchers ?? 10_000;
  }

  /** How many are watching now. */
  get watcherCount(): number {
    return this.#watcherCount;
  }

  /**
   * Sets the status of `service` and tells those who watch it.
   *
   * @throws {RangeError} For the empty name, which is always `SERVING`.
   */
  set(service: string, status: SettableStatus): void {
    if (service === "") {
      throw new RangeError(
        'Cannot set the health of "": the empty name is always SERVING',
      );
    }
    this.#statuses.set(service, status);
    for (const watcher of this.#watchers.get(service) ?? []) {
      watcher.tell(status);
    }
  }

  /** The status of `service`, or undefined when the name is not known. */
  get(service: string): SettableStatus | undefined {
    return this.#statuses.get(service);
  }

  /** All names and their statuses, the empty name included. */
  list(): ReadonlyMap<string, SettableStatus> {
    return new Map(this.#statuses);
  }

  /**
   * The status of `service` now and each time it has changed, until `signal`
   * is aborted; a change made before that is still told. An unknown name is
   * `SERVICE_UNKNOWN` until it is set. Who reads slowly gets the newest status,
   * not each one between. The watch counts from this call on until `signal` is
   * aborted or its iteration ends.
   *
   * @returns Undefined when as many are watching as may.
   */
  watch(
    service: string,
    signal: AbortSignal,
  ): AsyncIterable<ServingStatus> | undefined {
    if (this.#watcherCount >= this.#maxWatchers) return undefined;
    const watcher = new Watcher(
      this.get(service) ?? SERVING_STATUS.SERVICE_UNKNOWN,
    );
    const leave = (): void => {
      signal.removeEventListener("abort", leave);
      watcher.end();
      this.#remove(service, watcher);
    };
    this.#add(service, watcher);
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    return watcher.statuses(leave);
  }

  #add(service: string, watcher: Watcher): void {
    this.#watcherCount++;
    const watchers = this.#watchers.get(service);
    if (watchers === undefined) this.#watchers.set(service, new Set([watcher]));
    else watchers.add(watcher);
  }

  #remove(service: string, watcher: Watcher): void {
    const watchers = this.#watchers.get(service);
    if (watchers === undefined || !watchers.delete(watcher)) return;
    this.#watcherCount--;
    if (watchers.size === 0) this.#watchers.delete(service);
  }
}

/** One who watches: keeps the newest status that is not told yet. */
class Watcher {
  #newest: ServingStatus;
  #told: ServingStatus | undefined;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(status: ServingStatus) {
    this.#newest = status;
  }

  tell(status: ServingStatus): void {
    this.#newest = status;
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *statuses(leave: () => void): AsyncGenerator<ServingStatus> {
    try {
      while (true) {
        if (this.#newest !== this.#told) {
          this.#told = this.#newest;
          yield this.#told;
        } else if (this.#ended) {
          return;
        } else {
          await new Promise<void>((resolve) => this.#wake = resolve);
        }
      }
    } finally {
      leave();
    }
  }
}
