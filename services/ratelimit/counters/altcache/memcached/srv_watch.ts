/**
 * Follows a list of servers that DNS has as SRV records (RFC 2782).
 *
 * @module
 */

import { resolveSrv } from "node:dns/promises";
import type { Clock, Timer } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import {
  describeError,
  settle,
  waitAtMost,
} from "../../../../shared/settled.ts";
import { redialDelayMs } from "../../server_outage.ts";
import {
  formatMemcachedAddress,
  type MemcachedAddress,
  memcachedAddress,
} from "./address.ts";

/** The fields of an SRV record that are used. */
interface SrvRecord {
  /** The host. */
  readonly name: string;
  /** The port. */
  readonly port: number;
}

/** Looks SRV records up; rejects when it can't. */
export type SrvResolver = (name: string) => Promise<readonly SrvRecord[]>;

/** How a {@linkcode SrvWatch} is made. */
interface SrvWatchOptions {
  /** Name of the record, for instance `_memcache._tcp.example.com`. */
  readonly name: string;
  /** Milliseconds between two lookups; 0 looks up until records are found. */
  readonly refreshMs: number;
  /** Bound on one lookup, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Looks the records up.
   *
   * @default the system's resolver
   */
  readonly resolve?: SrvResolver | undefined;
  /** Gives the time. */
  readonly clock: Clock;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Gets a line when the list changes, and when further lookups fail. */
  readonly logger: Logger;
  /** Called with the list when it differs from the last one. */
  readonly onAddresses: (addresses: readonly MemcachedAddress[]) => void;
  /** Called when a lookup failed. */
  readonly onFailure: (reason: string) => void;
}

/** Most servers of a list; more records count as a mistake. */
const MAX_ADDRESSES = 1_000;

/**
 * Looks up a list of servers regularly. Priority and weight do not matter:
 * every server of the list has its share of the keys. A lookup that fails or
 * finds no records leaves the list as it was.
 */
export class SrvWatch {
  readonly #options: SrvWatchOptions;
  #isStarted = false;
  #run = 0;
  #timer: Timer | undefined;
  #failures = 0;
  #known = "";

  /** Makes a watch that has not been started. */
  constructor(options: SrvWatchOptions) {
    this.#options = options;
  }

  /** Begins to look up; does nothing while it is started. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#look(++this.#run);
  }

  /** Stops; the result of a lookup in progress is ignored. */
  stop(): void {
    this.#isStarted = false;
    this.#run++;
    this.#timer?.cancel();
  }

  async #look(run: number): Promise<void> {
    const { name, refreshMs, timeoutMs, clock, random } = this.#options;
    const resolve = this.#options.resolve ?? resolveSrv;
    const found = await waitAtMost(settle(() => resolve(name)), {
      clock,
      timeoutMs,
    });
    if (run !== this.#run) return;
    if (found === "late") {
      this.#fail(`no answer within ${timeoutMs} ms`);
    } else if (found.kind === "failed") {
      this.#fail(describeError(found.error));
    } else {
      this.#take(found.value);
    }
    // Without a list the next lookup is urgent; an old list can wait.
    const delayMs = this.#known === ""
      ? redialDelayMs(this.#failures, random)
      : refreshMs;
    if (delayMs <= 0 || run !== this.#run) return;
    this.#timer = clock.setTimer(() => void this.#look(run), delayMs);
  }

  #take(records: readonly SrvRecord[]): void {
    const { name, logger, onAddresses } = this.#options;
    const found = new Map<string, MemcachedAddress>();
    for (const record of records) {
      const address = memcachedAddress(record.name, record.port);
      if (address === undefined) {
        return this.#fail("a record names no usable host and port");
      }
      found.set(formatMemcachedAddress(address), address);
    }
    if (found.size === 0) return this.#fail("there are no records");
    if (found.size > MAX_ADDRESSES) {
      return this.#fail(`there are more than ${MAX_ADDRESSES} records`);
    }
    if (this.#failures > 0) logger.info("SRV lookup succeeds again", { name });
    this.#failures = 0;
    const names = [...found.keys()].sort().join(",");
    if (names === this.#known) return;
    this.#known = names;
    logger.info("server list changed", { name, servers: names });
    onAddresses([...found.values()]);
  }

  #fail(cause: string): void {
    const { name, logger, onFailure } = this.#options;
    const reason = `Cannot look up SRV records of "${name}": ${cause}`;
    this.#failures++;
    // Without a list, the store is out and tells of that.
    if (this.#failures === 1 && this.#known !== "") {
      logger.warn("SRV lookup failed", { reason });
    }
    onFailure(reason);
  }
}
