/**
 * What the stores of all services on PostgreSQL have in common, each of which
 * several instances use.
 *
 * @module
 */

import { type Clock, steadyMs } from "../clock.ts";
import type { InstanceStore } from "../instance_store.ts";
import { StoreBusyError, StoreFailedError } from "../store_failed.ts";
import { storeFailure } from "./failure.ts";
import type { DatabaseOptions, InstanceDatabase } from "./instance_database.ts";

/** After how long the clock of a new server is trusted. */
const NEW_SERVER_MS = 5_000;

/** A store with a database that is open between start and stop. */
export abstract class DatabaseStore<
  Notice,
  Parts extends { readonly database: InstanceDatabase<Notice> },
> implements InstanceStore<Notice> {
  /** The database's clock. */
  readonly clock: Clock;
  /** True: the time is the database's. */
  readonly hasOwnTime = true;
  readonly #listeners = new Set<(notice: Notice) => void>();
  #opened: Parts | undefined;

  /** Before the start and after the stop the own clock tells the time. */
  constructor({ clock }: Pick<DatabaseOptions, "clock">) {
    this.clock = {
      nowMs: () => this.#opened?.database.time.nowMs() ?? clock.nowMs(),
      monotonicMs: () => steadyMs(clock),
      setTimer: (...of) => clock.setTimer(...of),
    };
  }

  /** Checks the connections that the store writes with. */
  abstract readonly check: InstanceStore<Notice>["check"];

  /** Notes that an instance lives. */
  readonly beat: InstanceStore<Notice>["beat"] = (beat) =>
    this.use(({ database }) => database.members.beat(beat));

  /** Removes an instance. */
  readonly leave: InstanceStore<Notice>["leave"] = (id) =>
    this.use(({ database }) => database.members.leave(id));

  /** Tells other instances. */
  readonly tell: InstanceStore<Notice>["tell"] = (notices) => {
    for (const notice of notices) this.#opened?.database.tell(notice);
  };

  /** Calls `listen` with what other instances tell. */
  readonly onNotice: InstanceStore<Notice>["onNotice"] = (listen) => {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  };

  /** Whether the time is known to be that of the same server. */
  readonly mayEndLeases: InstanceStore<Notice>["mayEndLeases"] = () =>
    (this.#opened?.database.watch.msSinceChange() ?? 0) >= NEW_SERVER_MS;

  /** The parts, if the store is open. */
  protected get opened(): Parts | undefined {
    return this.#opened;
  }

  /** Sets the parts: at the start, and to undefined at the stop. */
  protected set opened(parts: Parts | undefined) {
    this.#opened = parts;
  }

  /** Hands on a notice. */
  protected hear(notice: Notice): void {
    for (const listen of this.#listeners) listen(notice);
  }

  /**
   * The parts.
   *
   * @throws {Error} when the store is not started
   */
  protected demand(): Parts {
    if (this.#opened !== undefined) return this.#opened;
    throw new Error("Cannot use the store: it is not started");
  }

  /** Calls `use` with the parts; every error is one of the store. */
  protected async use<Answer>(
    use: (parts: Parts) => Promise<Answer>,
  ): Promise<Answer> {
    const parts = this.demand();
    try {
      return await use(parts);
    } catch (error) {
      const isOwn = error instanceof StoreFailedError ||
        error instanceof StoreBusyError || error instanceof TypeError;
      throw isOwn ? error : storeFailure(error);
    }
  }
}
