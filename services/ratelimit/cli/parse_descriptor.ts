/**
 * A descriptor as a person types it: `key=value,key=value`.
 *
 * @module
 */

import type { DescriptorEntry } from "../../../proto/rate_limit_request.ts";
import { quote } from "../../shared/quote.ts";

/** The entries, or what is wrong with the text. */
export type ParsedDescriptor =
  | { readonly kind: "ok"; readonly entries: readonly DescriptorEntry[] }
  | { readonly kind: "bad"; readonly problem: string };

/**
 * Reads a descriptor. The first `=` of a pair ends its key; a key must not be
 * empty, a value may.
 */
export function parseDescriptor(text: string): ParsedDescriptor {
  const entries: DescriptorEntry[] = [];
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    if (equals < 1) {
      const problem = `Cannot read descriptor: ${quote(pair)} is not of the ` +
        "form key=value";
      return { kind: "bad", problem };
    }
    entries.push({ key: pair.slice(0, equals), value: pair.slice(equals + 1) });
  }
  return { kind: "ok", entries };
}
