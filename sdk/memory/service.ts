/**
 * Reads a relayer's state.
 *
 * @module
 */

import {
  isObject,
  omitUndefined,
  readOptionalBoolean,
  readOptionalString,
  readString,
} from "./answer_reader.ts";
import type { ClientParts } from "./client_parts.ts";
import {
  readCompatibility,
  type RelayerCompatibility,
} from "./compatibility.ts";
import { MemCompatibilityError } from "./errors.ts";

/** A relayer's state. Older relayers report only the status and the version. */
export interface HealthResult extends Partial<RelayerCompatibility> {
  /** `ok` when the relayer works. */
  readonly status: string;
  /** The relayer's version. */
  readonly version: string;
  /** `production`, or `benchmark` where texts are not encrypted. */
  readonly mode?: string;
  /** Whether memories can be written now. */
  readonly write_ready?: boolean;
}

/**
 * Asks the relayer for what it tells everybody.
 *
 * @throws {MemPreflightTimeout} When the request takes longer than its timeout.
 * @throws {MemError} When the relayer cannot be reached or refuses.
 */
export async function askUnsigned(
  { exchange, preflightTimeoutMs: timeoutMs }: Pick<
    ClientParts,
    "exchange" | "preflightTimeoutMs"
  >,
  path: "/config" | "/health",
): Promise<unknown> {
  const { json } = await exchange.send({
    method: "GET",
    path,
    isSigned: false,
    timeoutMs,
    purpose: `preflight GET ${path}`,
  });
  return json;
}

/** Does what {@linkcode Mem.health} says; the request is not signed. */
export async function health(parts: ClientParts): Promise<HealthResult> {
  const json = await askUnsigned(parts, "/health");
  return omitUndefined({
    ...readContract(json),
    status: readString(json, "status"),
    version: readString(json, "version"),
    mode: readOptionalString(json, "mode"),
    write_ready: readOptionalBoolean(json, "write_ready"),
  });
}

/**
 * Reads the relayer's versions and features. Of a relayer that is not
 * compatible, which is healthy all the same, it returns the versions alone.
 */
function readContract(json: unknown): Partial<RelayerCompatibility> {
  try {
    return readCompatibility(json);
  } catch (error) {
    if (!(error instanceof MemCompatibilityError)) throw error;
    const api = isObject(json) ? json["apiVersion"] : undefined;
    const relayer = isObject(json) ? json["relayerVersion"] : undefined;
    return omitUndefined({
      apiVersion: typeof api === "string" ? api : undefined,
      relayerVersion: typeof relayer === "string" ? relayer : undefined,
    });
  }
}
