/**
 * Whose account the client's key is a delegate of.
 *
 * @module
 */

import { readNonEmptyString, readString } from "./answer_reader.ts";
import { MemError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { SharedFlight } from "./shared_flight.ts";

/** Who signs. */
export interface WhoamiResult {
  /** The account. */
  readonly account_id: string;
  /** Address of its owner. */
  readonly owner: string;
  /** The package on the ledger that the account belongs to. */
  readonly package_id: string;
}

/** Options of {@linkcode OwnerLookup}. */
interface OwnerLookupOptions {
  /** Asks the relayer. */
  readonly exchange: Exchange;
  /** A namespace to ask for where the relayer knows no better route. */
  readonly namespace: string;
  /** Milliseconds that a request may take. */
  readonly timeoutMs: number;
}

/** Knows the owner's address, from the first time it is needed on. */
export class OwnerLookup {
  readonly #options: OwnerLookupOptions;
  readonly #address = new SharedFlight(() => this.#ask());

  /** A lookup that has not asked yet. */
  constructor(options: OwnerLookupOptions) {
    this.#options = options;
  }

  /**
   * The owner's address. Concurrent callers share one request; a request that
   * failed is made again by the next caller.
   *
   * @throws {MemError} When the relayer does not tell.
   */
  address(): Promise<string> {
    return this.#address.join();
  }

  /**
   * Asks the relayer who signs.
   *
   * @throws {MemError} When it does not tell.
   */
  async whoami(): Promise<WhoamiResult> {
    const json = await this.#askWhoami();
    return {
      account_id: readString(json, "account_id"),
      owner: readNonEmptyString(json, "owner"),
      package_id: readString(json, "package_id"),
    };
  }

  async #ask(): Promise<string> {
    try {
      return readNonEmptyString(await this.#askWhoami(), "owner");
    } catch (error) {
      if (!isUnknownRoute(error)) throw error;
      return await this.#askStats();
    }
  }

  async #askWhoami(): Promise<unknown> {
    const { exchange, timeoutMs } = this.#options;
    const { json } = await exchange.send({
      method: "GET",
      path: "/api/whoami",
      timeoutMs,
    });
    return json;
  }

  /** Older relayers tell the owner only in the answers of other routes. */
  async #askStats(): Promise<string> {
    const { exchange, namespace, timeoutMs } = this.#options;
    const { json } = await exchange.send({
      method: "POST",
      path: "/api/stats",
      body: { namespace },
      timeoutMs,
    });
    return readNonEmptyString(json, "owner");
  }
}

function isUnknownRoute(error: unknown): boolean {
  return error instanceof MemError &&
    (error.status === 404 || error.status === 405);
}
