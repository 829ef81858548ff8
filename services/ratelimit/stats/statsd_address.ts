/**
 * The address of a statsd server that is reached by UDP.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import type { Clock } from "../../shared/clock.ts";

/** An address, and the family that it belongs to. */
export interface FoundAddress {
  /** The address. */
  readonly address: string;
  /** 4 or 6. */
  readonly family: number;
}

/** Looks all addresses of a name up; rejects when it has none. */
export type LookUp = (host: string) => Promise<readonly FoundAddress[]>;

/** Looks a name up as the system does. */
export function lookUpName(host: string): Promise<readonly FoundAddress[]> {
  return lookup(host, { all: true });
}

/** How a {@linkcode StatsdAddress} is made. */
interface StatsdAddressOptions {
  /** The name, or an address. */
  readonly host: string;
  /** What the name was found to be now. */
  readonly found: FoundAddress;
  /** Looks the name up. */
  readonly lookUp: LookUp;
  /** Gives the time. */
  readonly clock: Clock;
}

/** Milliseconds for which an address is taken to be right. */
const FRESH_MS = 60_000;

/**
 * The address that a name leads to. Over UDP a server that has moved gives no
 * sign of it, so the name is looked up again now and then. A lookup that fails,
 * or finds no address of the same family, leaves the address as it was.
 */
export class StatsdAddress {
  readonly #options: StatsdAddressOptions;
  #address: string;
  #askedMs: number;
  #isAsking = false;

  /** Begins with the address that was found. */
  constructor(options: StatsdAddressOptions) {
    this.#options = options;
    this.#address = options.found.address;
    this.#askedMs = options.clock.nowMs();
  }

  /** The address; may begin to look it up again, for the calls after this. */
  take(): string {
    const { clock } = this.#options;
    if (!this.#isAsking && clock.nowMs() - this.#askedMs >= FRESH_MS) {
      void this.#ask();
    }
    return this.#address;
  }

  async #ask(): Promise<void> {
    const { host, found: { family }, lookUp, clock } = this.#options;
    this.#isAsking = true;
    try {
      const addresses = (await lookUp(host))
        .filter((one) => one.family === family)
        .map(({ address }) => address);
      // A name with several addresses gives them in any order.
      if (!addresses.includes(this.#address)) {
        this.#address = addresses[0] ?? this.#address;
      }
    } catch {
      // The next lookup may find it.
    }
    this.#askedMs = clock.nowMs();
    this.#isAsking = false;
  }
}
