/**
 * Asks a relayer for its state.
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

/** A relayer's state; older ones tell no more than the first two. */
export interface HealthResult extends Partial<RelayerCompatibility> {
  /** `ok` when it works. */
  readonly status: string;
  /** The relayer's version. */
  readonly version: string;
  /** `production`, or `benchmark` where texts are not encrypted. */
  readonly mode?: string;
  /** Whether memories can be written now. */
  readonly write_ready?: boolean;
}

/**
 * Asks for the relayer's state. A good answer says that it can be reached, and
 * nothing of key and account: no signature is sent.
 *
 * @throws {MemPreflightTimeout} When it takes longer than it may.
 * @throws {MemError} When the relayer cannot be reached or is not well.
 */
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

/** A relayer that does not fit is healthy all the same: tell what it says. */
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
