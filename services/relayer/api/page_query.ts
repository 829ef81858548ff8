/**
 * What the query of a listing says: where to go on, and how far.
 *
 * @module
 */

import type { FeedPosition } from "../store/store.ts";
import { type Answer, refused } from "./answer.ts";
import { decodeCursor, type Listing } from "./cursor.ts";

/** A page that is asked for. */
export interface PageQuery {
  /** Most items. */
  readonly limit: number;
  /** Where it begins; undefined for the first one. */
  readonly after: FeedPosition | undefined;
  /** The cursor as it came. */
  readonly cursor: string | undefined;
}

/** What reading a query comes to. */
export type PageQueryOutcome =
  | { readonly kind: "ok"; readonly page: PageQuery }
  | { readonly kind: "refused"; readonly answer: Answer };

/** Items of a page when nobody says how many. */
export const DEFAULT_PAGE_LIMIT = 100;

/** Most items of a page; more are not given, whatever is asked for. */
export const MAX_PAGE_LIMIT = 500;

const DIGITS = /^\d{1,30}$/;

/** Reads `updated_after` and `limit`. */
export function readPageQuery(
  listing: Listing,
  query: string,
): PageQueryOutcome {
  const parameters = new URLSearchParams(query);
  const limit = limitOf(parameters.get("limit"));
  if (limit === undefined) {
    return refusal('Cannot list: "limit" is no whole number from 1 on');
  }
  const cursor = parameters.get("updated_after") ?? undefined;
  const after = cursor === undefined
    ? undefined
    : decodeCursor(listing, cursor);
  return cursor !== undefined && after === undefined
    ? refusal("invalid cursor")
    : { kind: "ok", page: { limit, after, cursor } };
}

function limitOf(text: string | null): number | undefined {
  if (text === null) return DEFAULT_PAGE_LIMIT;
  if (!DIGITS.test(text)) return undefined;
  const limit = Number(text);
  return limit < 1 ? undefined : Math.min(limit, MAX_PAGE_LIMIT);
}

function refusal(error: string): PageQueryOutcome {
  return { kind: "refused", answer: refused(400, error) };
}
