/**
 * Headers that requests of any route may have: its id, what the client prefers
 * (RFC 7240), the type of the body (RFC 9110, 8.3).
 *
 * @module
 */

import { newRequestId } from "../../shared/http/exchange.ts";
import type { AnswerHeaders } from "./answer.ts";

/** What needs no quoting in a log, a URL path or a header. */
const SAFE_ID = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/**
 * The id of a request: the client's own, when it is safe to repeat, or else a
 * new one, which `generate` makes.
 */
export function requestIdOf(
  header: string | undefined,
  generate: () => string = newRequestId,
): string {
  return header !== undefined && SAFE_ID.test(header) ? header : generate();
}

/** The preference for an answer that says no more than it must. */
const MINIMAL = "return=minimal";

/** Tells that {@linkcode prefersMinimal} was heeded (RFC 7240, 3). */
export const MINIMAL_APPLIED: AnswerHeaders = { "preference-applied": MINIMAL };

/**
 * Whether a `Prefer` header asks for `return=minimal` (RFC 7240, 4.2). Of a
 * preference that is stated more than once the first counts (section 2), and
 * what is malformed or unknown is as if it was not there.
 */
export function prefersMinimal(header: string | undefined): boolean {
  if (header === undefined) return false;
  for (const preference of header.split(",")) {
    const [stated = ""] = preference.split(";", 1);
    const [name = "", value = ""] = stated.split("=", 2)
      .map((part) => part.trim());
    if (name.toLowerCase() !== "return") continue;
    return value.replace(/^"(.*)"$/, "$1") === "minimal";
  }
  return false;
}

/** What a Content-Type says. */
interface MediaType {
  /** Type and subtype in lower case. */
  readonly essence: string;
  /** The character set in lower case, if one is named. */
  readonly charset: string | undefined;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})[ \\t]*((?:;.*)?)$`, "s");

const CHARSET = new RegExp(`;[ \\t]*charset=(?:"([^"]*)"|(${TOKEN}))`, "i");

/** Reads a Content-Type; `undefined` when it is malformed. */
export function parseMediaType(header: string): MediaType | undefined {
  if (header.length > 512) return undefined;
  const match = MEDIA_TYPE.exec(header.trim());
  if (match === null) return undefined;
  const charset = CHARSET.exec(match[2] ?? "");
  return {
    essence: (match[1] ?? "").toLowerCase(),
    charset: (charset?.[1] ?? charset?.[2])?.toLowerCase(),
  };
}
