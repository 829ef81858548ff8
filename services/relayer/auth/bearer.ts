/**
 * Reads the token of a request's `Authorization` header (RFC 6750, 2.1).
 *
 * @module
 */

import type { HttpHeaders } from "../../shared/http/exchange.ts";

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Returns the bearer token of a request.
 *
 * @returns undefined if the field is missing, repeated or of another form
 */
export function readBearer(headers: HttpHeaders): string | undefined {
  const sent = headers.all("authorization");
  return sent.length === 1 ? BEARER.exec(sent[0] ?? "")?.[1] : undefined;
}
