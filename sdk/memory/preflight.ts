/**
 * What a client asks before its first signed request.
 *
 * @module
 */

import {
  readCompatibility,
  type RelayerCompatibility,
} from "./compatibility.ts";
import type { Exchange, RelayerAnswer } from "./exchange.ts";
import { SharedFlight } from "./shared_flight.ts";

/**
 * Asks a relayer who it is. What it says is asked once for all callers and then
 * remembered; a failure of any kind is not, so that the next call tries again.
 */
export class Preflight {
  readonly #exchange: Exchange;
  readonly #timeoutMs: number;
  readonly #check = new SharedFlight(() => this.compatibility());

  /** A preflight over an exchange; each round trip may take `timeoutMs`. */
  constructor(exchange: Exchange, timeoutMs: number) {
    this.#exchange = exchange;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Makes sure, once, that client and relayer fit each other.
   *
   * @throws {MemCompatibilityError} When they do not.
   * @throws {MemPreflightTimeout} When a round trip stalls.
   * @throws {MemError} When the relayer cannot be reached.
   */
  check(): Promise<RelayerCompatibility> {
    return this.#check.join();
  }

  /**
   * Asks again what the relayer says of itself. One without `/version` says it
   * in `/health`.
   *
   * @throws {MemCompatibilityError} When client and relayer do not fit.
   * @throws {MemPreflightTimeout} When a round trip stalls.
   * @throws {MemError} When the relayer cannot be reached.
   */
  async compatibility(): Promise<RelayerCompatibility> {
    const answer = await this.#get("/version", [404, 405]);
    const isMissing = answer.status === 404 || answer.status === 405;
    const { json } = isMissing ? await this.#get("/health", []) : answer;
    return readCompatibility(json);
  }

  #get(path: string, alsoGood: readonly number[]): Promise<RelayerAnswer> {
    return this.#exchange.send({
      method: "GET",
      path,
      isSigned: false,
      alsoGood,
      timeoutMs: this.#timeoutMs,
      purpose: `preflight GET ${path}`,
    });
  }
}
