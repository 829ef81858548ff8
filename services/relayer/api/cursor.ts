/**
 * Where the next page of a listing begins, as clients carry it about.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { FeedPosition } from "../store/store.ts";
import { isJsonObject } from "./checks/check.ts";

/** The listings that have pages. */
export type Listing = "memories" | "namespaces";

const MAX_CURSOR_LENGTH = 256;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** The cursor of a position. Whoever makes one up sees no more than their own. */
export function encodeCursor(
  listing: Listing,
  { change }: FeedPosition,
): string {
  return Buffer.from(JSON.stringify({ listing, change }))
    .toString("base64url");
}

/** The position of a cursor; undefined when it is none of this listing. */
export function decodeCursor(
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
