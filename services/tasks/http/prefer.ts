/**
 * What a client would like of an answer (RFC 7240).
 *
 * @module
 */

import type { AnswerHeaders } from "./answer.ts";

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
