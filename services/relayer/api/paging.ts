/**
 * The query of a listing, and the cursors that its pages go on from.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { FeedPosition } from "../store/store.ts";
import { type Answer, refused } from "./answer.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";

/** The listings that have pages. */
export type Listing = "memories" | "namespaces";

const MAX_CURSOR_LENGTH = 256;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** The cursor of a position. A forged one shows no more than the own rows. */
export function encodeCursor(
  listing: Listing,
  { change }: FeedPosition,
): string {
  return Buffer.from(JSON.stringify({ listing, change }))
    .toString("base64url");
}

/** The position of a cursor; undefined when it is not one of this listing. */
function decodeCursor(
  listing: Listing,
  cursor: string,
): FeedPosition | undefined {
  if (cursor.length > MAX_CURSOR_LENGTH || !BASE64URL.test(cursor)) {
    return undefined;
  }
  const value = parse(Buffer.from(cursor, "base64url").toString("utf8"));
  if (!isJsonObject(value) || value["listing"] !== listing) return undefined;
  const { change } = value;
  return typeof change === "number" && Number.isSafeInteger(change) &&
      change >= 0
    ? { change }
    : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A text that is no JSON is no cursor, which the caller says.
    return undefined;
  }
}

/** A page that is asked for. */
export interface PageQuery {
  /** Most items. */
  readonly limit: number;
  /** Where it begins; undefined for the first one. */
  readonly after: FeedPosition | undefined;
  /** The cursor as it came. */
  readonly cursor: string | undefined;
}

/** The outcome of reading a query. */
type PageQueryOutcome =
  | { readonly kind: "ok"; readonly page: PageQuery }
  | { readonly kind: "refused"; readonly answer: Answer };

/** Items of a page by default. */
const DEFAULT_PAGE_LIMIT = 100;

/** Most items of a page; more are not given, whatever is asked for. */
const MAX_PAGE_LIMIT = 500;

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
