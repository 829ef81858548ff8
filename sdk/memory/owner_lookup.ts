/**
 * Finds the account and the owner that the client's key acts for.
 *
 * @module
 */

import { readNonEmptyString, readString } from "./answer_reader.ts";
import { MemError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { SharedFlight } from "./shared_flight.ts";

/** The account that the relayer recognizes by the client's key. */
export interface WhoamiResult {
  /** The account's object id. */
  readonly account_id: string;
  /** Address of its owner. */
  readonly owner: string;
  /** The package on the ledger that the account belongs to. */
  readonly package_id: string;
}

/** Options of {@linkcode OwnerLookup}. */
interface OwnerLookupOptions {
  /** Sends requests to the relayer. */
  readonly exchange: Exchange;
  /**
   * The namespace for `/api/stats`, which is asked when the relayer has no
   * better route.
   */
  readonly namespace: string;
  /** Timeout of a request in milliseconds. */
  readonly timeoutMs: number;
}

/** Finds the owner's address when it is first needed, and keeps it. */
export class OwnerLookup {
  readonly #options: OwnerLookupOptions;
  readonly #address = new SharedFlight(() => this.#ask());

  /** Creates a lookup; the first call sends the request. */
  constructor(options: OwnerLookupOptions) {
    this.#options = options;
  }

  /**
   * Returns the owner's address. Concurrent callers share one request; after a
   * failure the next caller sends another.
   *
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  address(): Promise<string> {
    return this.#address.join();
  }

  /**
   * Asks the relayer for the account of the client's key.
   *
   * @throws {MemError} When the relayer cannot be reached or refuses.
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

  /** Older relayers report the owner only in answers of other routes. */
  async #askStats(): Promise<string> {
    const { exchange, namespace, timeoutMs } = this.#options;
    const { json } = await exchange.send({
      method: "POST",
      path: "/api/stats",
      isRepeatable: true,
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
