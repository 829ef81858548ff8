/**
 * A request for a decision as a person writes it: a domain, and descriptors as
 * `key=value,key=value`; or its JSON form.
 *
 * @module
 */

import { requestFromJson } from "../../../proto/rate_limit_json.ts";
import {
  decodeRateLimitRequest,
  type DescriptorEntry,
  encodeRateLimitRequest,
  type RateLimitRequest,
} from "../../../proto/rate_limit_request.ts";
import { RequestView } from "../../../proto/request_view.ts";
import { quote } from "../../shared/quote.ts";

/** The request, or what is wrong with it. */
export type WrittenRequest =
  | { readonly kind: "ok"; readonly request: RateLimitRequest }
  | { readonly kind: "invalid"; readonly problem: string };

/** A request of written descriptors; `hits` of 0 look without counting. */
export function writtenRequest(
  from: {
    readonly domain: string;
    /** Each as `key=value,key=value`. */
    readonly descriptors: readonly string[];
    readonly hits: number;
  },
): WrittenRequest {
  const descriptors: RateLimitRequest["descriptors"][number][] = [];
  for (const text of from.descriptors) {
    const parsed = parseDescriptor(text);
    if (parsed.kind === "invalid") return parsed;
    const looks = from.hits === 0 ? { hitsAddend: 0 } : {};
    descriptors.push({ entries: parsed.entries, ...looks });
  }
  const request = { domain: from.domain, descriptors, hitsAddend: from.hits };
  return { kind: "ok", request };
}

/** A request in JSON. */
export function jsonRequest(text: string): WrittenRequest {
  const read = requestFromJson(text);
  return read.kind === "ok" ? read : { kind: "invalid", problem: read.reason };
}

/** The entries, or what is wrong with the text. */
type ParsedDescriptor =
  | { readonly kind: "ok"; readonly entries: readonly DescriptorEntry[] }
  | { readonly kind: "invalid"; readonly problem: string };

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
      return { kind: "invalid", problem };
    }
    entries.push({ key: pair.slice(0, equals), value: pair.slice(equals + 1) });
  }
  return { kind: "ok", entries };
}

/**
 * The view of a request that decisions read, or why they would not take it.
 *
 * @param options How many descriptors it may have.
 */
export function viewOfRequest(
  request: RateLimitRequest,
  options: { readonly maxDescriptors: number },
): RequestView | string {
  const view = new RequestView();
  const fault = decodeRateLimitRequest(
    encodeRateLimitRequest(request),
    view,
    options,
  );
  return fault === undefined ? view : fault.reason;
}
