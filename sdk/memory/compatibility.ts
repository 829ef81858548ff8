/**
 * Whether this client and a relayer fit each other, and the asking for it before
 * the first signed request.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";
import { MemCompatibilityError } from "./errors.ts";
import type { Exchange, RelayerAnswer } from "./exchange.ts";
import { SharedFlight } from "./shared_flight.ts";

/** Something that a later relayer will not have. */
export interface Deprecation {
  /** What it is, such as a header field. */
  readonly surface: string;
  /** The API version that first advised against it. */
  readonly deprecatedSince: string;
  /** The API version without it. */
  readonly removalApiVersion: string;
  /** What to use instead. */
  readonly guidance: string;
}

/** What a relayer says of itself. */
export interface RelayerCompatibility {
  /** The relayer's version. */
  readonly relayerVersion: string;
  /** Version of the routes, three numbers with full stops between. */
  readonly apiVersion: string;
  /** The oldest clients it serves, by kind; `typescript` is this one's. */
  readonly minSupportedSdk: Readonly<Record<string, string>>;
  /** What it can do, by dotted names. */
  readonly featureFlags: Readonly<Record<string, boolean>>;
  /** What it will not have some day. */
  readonly deprecations: readonly Deprecation[];
  /** What it was built from, as far as it tells. */
  readonly build: Readonly<Record<string, string>>;
}

/**
 * The contract this client keeps, compared with what a relayer asks for. It is
 * no package's version: it rises only when the protocol leaves clients behind.
 */
const CONTRACT_BASELINE = "0.0.4";

const API_MAJOR = 1;

/**
 * Reads what a relayer says of itself, and returns it when this client can work
 * with that: an API of major version 1 that asks for no later contract.
 *
 * @throws {MemCompatibilityError} When it cannot, or the relayer does not say.
 */
export function readCompatibility(json: unknown): RelayerCompatibility {
  const block = isObject(json) ? json : {};
  const relayerVersion = textOf(block["relayerVersion"], "relayerVersion");
  const apiVersion = textOf(block["apiVersion"], "apiVersion");
  const minSupportedSdk = textsOf(block["minSupportedSdk"]);
  const minimum = textOf(
    minSupportedSdk["typescript"],
    "minSupportedSdk.typescript",
  );
  checkApi(apiVersion);
  checkMinimum(minimum);
  return {
    relayerVersion,
    apiVersion,
    minSupportedSdk,
    featureFlags: flagsOf(block["featureFlags"]),
    deprecations: deprecationsOf(block["deprecations"]),
    build: textsOf(block["build"]),
  };
}

function checkApi(apiVersion: string): void {
  const [major] = numbersOf(apiVersion, "apiVersion");
  if (major === API_MAJOR) return;
  throw fault(
    `it speaks API ${apiVersion}, this client ${API_MAJOR}.x; update ` +
      (major > API_MAJOR ? "the client" : "the relayer"),
  );
}

function checkMinimum(minimum: string): void {
  const wanted = numbersOf(minimum, "minSupportedSdk.typescript");
  const offered = numbersOf(CONTRACT_BASELINE, "the baseline");
  if (!isAbove(wanted, offered)) return;
  throw fault(
    `it asks for contract ${minimum}, this client keeps ` +
      `${CONTRACT_BASELINE}; update the client`,
  );
}

type ThreeNumbers = readonly [number, number, number];

function numbersOf(version: string, name: string): ThreeNumbers {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(version);
  if (match === null) throw fault(`its ${name} is no version such as 1.0.0`);
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}

function isAbove(left: ThreeNumbers, right: ThreeNumbers): boolean {
  const at = left.findIndex((number, index) => number !== right[index]);
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw fault(
    `it does not tell its ${name}; is it a relayer, and is it current?`,
  );
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    entriesOf(value).filter((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    ),
  );
}

function flagsOf(value: unknown): Readonly<Record<string, boolean>> {
  return Object.fromEntries(
    entriesOf(value).filter((entry): entry is [string, boolean] =>
      typeof entry[1] === "boolean"
    ),
  );
}

function entriesOf(value: unknown): readonly [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

function deprecationsOf(value: unknown): readonly Deprecation[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((item) => ({
    surface: String(item["surface"] ?? ""),
    deprecatedSince: String(item["deprecatedSince"] ?? ""),
    removalApiVersion: String(item["removalApiVersion"] ?? ""),
    guidance: String(item["guidance"] ?? ""),
  }));
}

function fault(state: string): MemCompatibilityError {
  return new MemCompatibilityError(`Cannot use this relayer: ${state}`);
}

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
