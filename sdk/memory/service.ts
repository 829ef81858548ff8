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

/** Does what {@linkcode Mem.health} says; the request is not signed. */
export async function health(parts: ClientParts): Promise<HealthResult> {
  const { json } = await parts.exchange.send({
    method: "GET",
    path: "/health",
    isSigned: false,
    timeoutMs: parts.preflightTimeoutMs,
    purpose: "preflight GET /health",
  });
  return omitUndefined({
    ...contractOf(json),
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
function contractOf(json: unknown): Partial<RelayerCompatibility> {
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
