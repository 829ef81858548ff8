/**
 * The configuration of key servers, and the checks of it.
 *
 * @module
 */

import { omitUndefined } from "./answer_reader.ts";

/** A key server that holds a share of the keys that decrypt memories. */
export interface KeyServerConfig {
  /** The key server's object on the ledger. */
  readonly objectId: string;
  /**
   * How many shares the key server has.
   *
   * @default {1}
   */
  readonly weight?: number;
  /**
   * The URL of the aggregator that combines the shares of a committee. A
   * committee must have one.
   *
   * @default none: an independent key server
   */
  readonly aggregatorUrl?: string;
  /**
   * The header field that carries `apiKey`.
   *
   * @default none
   */
  readonly apiKeyName?: string;
  /**
   * The API key with which the key server recognizes its customer.
   *
   * @default none
   */
  readonly apiKey?: string;
}

/**
 * Object ids of independent key servers: a list of ids; an object whose values
 * are ids, under any names; or an object of such lists by the names of
 * networks, of which the list of `ledgerNetwork` is used.
 */
export type KeyServerIds =
  | readonly string[]
  | Readonly<Record<string, string>>
  | Readonly<Record<string, readonly string[]>>;

/**
 * Checks object ids of key servers and returns them as a list.
 *
 * @throws {TypeError} When they are no {@linkcode KeyServerIds}.
 */
export function readKeyServerIds(
  value: unknown,
  network: string,
): readonly string[] {
  if (Array.isArray(value)) {
    return value.map((id) => readText(id, "keyServers"));
  }
  if (typeof value !== "object" || value === null) {
    throw configFault("keyServers is neither a list nor an object");
  }
  const entries: readonly (readonly [string, unknown])[] = Object.entries(
    value,
  );
  if (!entries.some(([, ids]) => Array.isArray(ids))) {
    return entries.map(([name, id]) => readText(id, `keyServers.${name}`));
  }
  const own = entries.find(([name]) => name === network);
  if (own === undefined) {
    throw configFault(`keyServers has none for ledgerNetwork "${network}"`);
  }
  return readList(own[1], `keyServers.${network}`).map((id) =>
    readText(id, `keyServers.${network}`)
  );
}

/**
 * Checks a list of key servers.
 *
 * @throws {TypeError} When it is not valid.
 */
export function readKeyServerConfigs(
  value: unknown,
): readonly KeyServerConfig[] {
  return readList(value, "keyServerConfigs").map(readKeyServerConfig);
}

function readKeyServerConfig(value: unknown, index: number): KeyServerConfig {
  const name = `keyServerConfigs[${index}]`;
  if (typeof value !== "object" || value === null) {
    throw configFault(`${name} is not an object`);
  }
  const config: Partial<Record<keyof KeyServerConfig, unknown>> = value;
  const { objectId, weight } = config;
  const textIn = (member: "aggregatorUrl" | "apiKeyName" | "apiKey") =>
    config[member] === undefined
      ? undefined
      : readText(config[member], `${name}.${member}`);
  return omitUndefined({
    objectId: readText(objectId, `${name}.objectId`),
    weight: weight === undefined
      ? undefined
      : readWeight(weight, `${name}.weight`),
    aggregatorUrl: textIn("aggregatorUrl"),
    apiKeyName: textIn("apiKeyName"),
    apiKey: textIn("apiKey"),
  });
}

function readWeight(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value > 0) {
    return value;
  }
  throw configFault(`${name} is not a whole number above 0`);
}

/**
 * Returns a text with at least one character as it is.
 *
 * @throws {TypeError} When the value is something else.
 */
export function readText(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw configFault(`${name} is ${value === "" ? "empty" : "not text"}`);
}

/**
 * Returns a list as it is; its elements are not checked.
 *
 * @throws {TypeError} When the value is something else.
 */
function readList(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw configFault(`${name} is not a list`);
}

/**
 * Returns the error for a configuration that is not valid; `state` is the
 * reason.
 */
export function configFault(state: string): TypeError {
  return new TypeError(`Cannot create a client: ${state}`);
}
