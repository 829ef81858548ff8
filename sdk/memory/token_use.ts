/**
 * Checks whether an access token permits a request before it is sent, so that
 * the caller gets the reason and not a refusal.
 *
 * @module
 */

import type { AccessTokenClaims } from "./access_token.ts";
import { isObject } from "./answer_reader.ts";
import { MemError } from "./errors.ts";
import type { RelayerRequest } from "./exchange.ts";
import { quote } from "./server_text.ts";

/** How long after its expiry a relayer may still accept a token, unless told. */
const SKEW_MS = 300_000;

/** An access token and what it says. */
export interface TokenCredential {
  /** The token. */
  readonly text: string;
  /** What it says. */
  readonly claims: AccessTokenClaims;
}

/**
 * Returns without a value when the token permits the request, as far as the
 * client can tell.
 *
 * @throws {MemError} When the relayer would refuse the request.
 */
export function checkTokenUse(
  { access, namespaces, expiresAtMs }: AccessTokenClaims,
  { request, purpose, nowMs }: {
    readonly request: Pick<RelayerRequest, "body" | "changes">;
    /** The name of the request for messages. */
    readonly purpose: string;
    /** The time, milliseconds since the Unix epoch. */
    readonly nowMs: number;
  },
): void {
  const refuse = (state: string): never => {
    throw new MemError(`Cannot complete ${purpose}: the access token ${state}`);
  };
  if (nowMs >= expiresAtMs + SKEW_MS) {
    refuse(`expired at ${formatTime(expiresAtMs)}; make another`);
  }
  if (request.changes === true && access === "read") {
    refuse("may only read; make one that may write");
  }
  const other = namespacesOf(request).find((name) =>
    !(namespaces?.includes(name) ?? true)
  );
  if (other !== undefined) {
    refuse(`is not for namespace ${quote(other)}; use one that it is for`);
  }
}

/**
 * Throws for a request that needs the key servers' session, which a token
 * cannot make.
 *
 * @throws {MemError} In any case.
 */
export function refuseSession(purpose: string): never {
  throw new MemError(
    `Cannot complete ${purpose}: the memories are behind key servers, which ` +
      "need the delegate's key; make the client with key",
  );
}

function namespacesOf({ body }: Pick<RelayerRequest, "body">): string[] {
  const items = Array.isArray(body?.["items"]) ? body["items"] : [];
  return [body, ...items].flatMap((one) => {
    const name = isObject(one) ? one["namespace"] : undefined;
    return typeof name === "string" ? [name] : [];
  });
}

/** A claim may be outside of what a date can be. */
function formatTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
