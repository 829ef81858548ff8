/**
 * Checks, before the first signed request, whether this client and a relayer
 * are compatible.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";
import { MemCompatibilityError } from "./errors.ts";
import type { Exchange, RelayerAnswer } from "./exchange.ts";
import { SharedFlight } from "./shared_flight.ts";

/** A part of the relayer's interface that a later version will not have. */
export interface Deprecation {
  /** The name of the part, such as that of a header field. */
  readonly surface: string;
  /** The API version that first deprecated it. */
  readonly deprecatedSince: string;
  /** The first API version without it. */
  readonly removalApiVersion: string;
  /** What to use instead. */
  readonly guidance: string;
}

/** The versions and features that a relayer reports. */
export interface RelayerCompatibility {
  /** The release that runs there. */
  readonly relayerVersion: string;
  /**
   * Version of the relayer's HTTP API, three numbers with full stops between.
   */
  readonly apiVersion: string;
  /**
   * The oldest client versions that the relayer supports, by kind; `typescript`
   * is this client's.
   */
  readonly minSupportedSdk: Readonly<Record<string, string>>;
  /** The features that the relayer has, by dotted names. */
  readonly featureFlags: Readonly<Record<string, boolean>>;
  /** Parts of the interface that later versions will not have. */
  readonly deprecations: readonly Deprecation[];
  /** Details of the relayer's build, where the relayer reports them. */
  readonly build: Readonly<Record<string, string>>;
}

/**
 * The version of the protocol that this client speaks, which is compared with
 * the minimum that a relayer asks for. It is not the version of a package: it
 * rises only when the protocol no longer supports older clients.
 */
const CONTRACT_BASELINE = "0.0.4";

const API_MAJOR = 1;

/**
 * Reads the versions and features that a relayer reports, and returns them when
 * this client can work with them: an API of major version 1 that supports this
 * client's protocol.
 *
 * @throws {MemCompatibilityError} When this client cannot work with the
 * relayer, or the relayer does not report its versions.
 */
export function readCompatibility(json: unknown): RelayerCompatibility {
  const block = isObject(json) ? json : {};
  const relayerVersion = readText(block["relayerVersion"], "relayerVersion");
  const apiVersion = readText(block["apiVersion"], "apiVersion");
  const minSupportedSdk = readTexts(block["minSupportedSdk"]);
  const minimum = readText(
    minSupportedSdk["typescript"],
    "minSupportedSdk.typescript",
  );
  checkApi(apiVersion);
  checkMinimum(minimum);
  return {
    relayerVersion,
    apiVersion,
    minSupportedSdk,
    featureFlags: readFlags(block["featureFlags"]),
    deprecations: readDeprecations(block["deprecations"]),
    build: readTexts(block["build"]),
  };
}

function checkApi(apiVersion: string): void {
  const [major] = parseNumbers(apiVersion, "apiVersion");
  if (major === API_MAJOR) return;
  throw fault(
    `it speaks API ${apiVersion}, this client ${API_MAJOR}.x; update ` +
      (major > API_MAJOR ? "the client" : "the relayer"),
  );
}

function checkMinimum(minimum: string): void {
  const wanted = parseNumbers(minimum, "minSupportedSdk.typescript");
  const offered = parseNumbers(CONTRACT_BASELINE, "the baseline");
  if (!isAbove(wanted, offered)) return;
  throw fault(
    `it asks for contract ${minimum}, this client keeps ` +
      `${CONTRACT_BASELINE}; update the client`,
  );
}

type ThreeNumbers = readonly [number, number, number];

function parseNumbers(version: string, name: string): ThreeNumbers {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(version);
  if (match === null) throw fault(`its ${name} is not a version such as 1.0.0`);
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}

function isAbove(left: ThreeNumbers, right: ThreeNumbers): boolean {
  const at = left.findIndex((number, index) => number !== right[index]);
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0);
}

function readText(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw fault(
    `it does not tell its ${name}; is it a relayer, and is it current?`,
  );
}

function readTexts(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listEntries(value).filter((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    ),
  );
}

function readFlags(value: unknown): Readonly<Record<string, boolean>> {
  return Object.fromEntries(
    listEntries(value).filter((entry): entry is [string, boolean] =>
      typeof entry[1] === "boolean"
    ),
  );
}

function listEntries(value: unknown): readonly [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

function readDeprecations(value: unknown): readonly Deprecation[] {
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
 * Checks compatibility with a relayer. The relayer is asked once for all
 * callers and its answer is kept; a failure of any kind is not kept, so the
 * next call tries again.
 */
export class Preflight {
  readonly #exchange: Exchange;
  readonly #timeoutMs: number;
  readonly #check = new SharedFlight(() => this.compatibility());

  /**
   * Creates a check over an exchange; each of its requests has the timeout
   * `timeoutMs`.
   */
  constructor(exchange: Exchange, timeoutMs: number) {
    this.#exchange = exchange;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Checks once whether client and relayer are compatible.
   *
   * @throws {MemCompatibilityError} When they are not.
   * @throws {MemPreflightTimeout} When a request takes too long.
   * @throws {MemError} When the relayer cannot be reached.
   */
  check(): Promise<RelayerCompatibility> {
    return this.#check.join();
  }

  /**
   * Asks the relayer for its versions and features again. A relayer without
   * `/version` reports them in `/health`.
   *
   * @throws {MemCompatibilityError} When client and relayer are not compatible.
   * @throws {MemPreflightTimeout} When a request takes too long.
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
