/**
 * Reads a request for a decision as a person writes it: a domain, and
 * descriptors as `key=value,key=value`; or its JSON form.
 *
 * @module
 */

import { requestFromJson } from "../../../proto/rate_limit_json.ts";
import {
  type DescriptorEntry,
  type RateLimitDescriptor,
  type RateLimitOverride,
  type RateLimitRequest,
  viewRateLimitRequest,
} from "../../../proto/rate_limit_request.ts";
import { UNIT } from "../../../proto/rate_limit_response.ts";
import { RequestView } from "../../../proto/request_view.ts";
import { quote } from "../../shared/quote.ts";
import { UNIT_WORDS, unitOfWord } from "../rules/unit.ts";

/** The request that was read, or what is wrong with the text. */
export type WrittenRequest =
  | { readonly kind: "ok"; readonly request: RateLimitRequest }
  | { readonly kind: "invalid"; readonly problem: string };

/**
 * Makes a request of descriptors in text form; `hits` of 0 looks without
 * counting.
 */
export function writtenRequest(
  from: {
    readonly domain: string;
    /** Descriptors, each as `key=value,key=value`. */
    readonly descriptors: readonly string[];
    readonly hits: number;
    /**
     * Limits that take the place of the rules' limits, as {@linkcode
     * parseLimit} reads them: one for all descriptors, or one for each.
     *
     * @default none
     */
    readonly limits?: readonly string[] | undefined;
  },
): WrittenRequest {
  const { limits = [] } = from;
  const descriptors: RateLimitDescriptor[] = [];
  if (limits.length > 1 && limits.length !== from.descriptors.length) {
    const problem = `Cannot read limits: there are ${limits.length} of them ` +
      `for ${from.descriptors.length} descriptors; give one for all, or one ` +
      "for each";
    return { kind: "invalid", problem };
  }
  for (const [index, text] of from.descriptors.entries()) {
    const parsed = parseDescriptor(text);
    if (parsed.kind === "invalid") return parsed;
    const limit = parseLimit(limits[limits.length === 1 ? 0 : index] ?? "none");
    if (limit.kind === "invalid") return limit;
    descriptors.push({
      entries: parsed.entries,
      ...(limit.limit && { limit: limit.limit }),
      ...(from.hits === 0 && { hitsAddend: 0 }),
    });
  }
  const request = { domain: from.domain, descriptors, hitsAddend: from.hits };
  return { kind: "ok", request };
}

/** Reads a request in JSON. */
export function jsonRequest(text: string): WrittenRequest {
  const read = requestFromJson(text);
  return read.kind === "ok" ? read : { kind: "invalid", problem: read.reason };
}

/** The entries of a descriptor, or what is wrong with the text. */
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

/** The limit, undefined for the text `none`; or what is wrong with the text. */
type ParsedLimit =
  | { readonly kind: "ok"; readonly limit: RateLimitOverride | undefined }
  | { readonly kind: "invalid"; readonly problem: string };

const UINT32_MAX = 4_294_967_295;

/** Reads a limit such as `10/minute`, or `none`. */
export function parseLimit(text: string): ParsedLimit {
  if (text === "none") return { kind: "ok", limit: undefined };
  const found = /^(\d{1,10})\/([a-z]+)$/i.exec(text);
  const requestsPerUnit = Number(found?.[1] ?? NaN);
  const unit = unitOfWord(found?.[2] ?? "");
  if (unit === undefined || !(requestsPerUnit <= UINT32_MAX)) {
    const problem = `Cannot read limit: ${quote(text)} is not of the form ` +
      `number/unit, with a number up to ${UINT32_MAX} and a unit of ` +
      UNIT_WORDS.join(", ");
    return { kind: "invalid", problem };
  }
  return { kind: "ok", limit: { requestsPerUnit, unit: UNIT[unit] } };
}

/**
 * Returns the view of a request that decisions read, or the reason why the
 * request is refused.
 *
 * @param options Most descriptors that the request may have.
 */
export function viewOfRequest(
  request: RateLimitRequest,
  options: { readonly maxDescriptors: number },
): RequestView | string {
  const view = new RequestView();
  const memory = new Uint8Array();
  const fault = viewRateLimitRequest(request, view, { ...options, memory });
  return fault === undefined ? view : fault.reason;
}
