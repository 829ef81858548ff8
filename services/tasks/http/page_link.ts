/**
 * The Link header of pages (RFC 8288).
 *
 * @module
 */

/** The request of a page, and where the next one begins. */
export interface NextPageOptions {
  /** The address of the list, without query. */
  readonly url: string;
  /** The query of the request, without question mark. */
  readonly rawQuery: string;
  /** The cursor of the next page. */
  readonly cursor: string;
}

/** The address of the next page: that of this one with another cursor. */
export function nextPageUrl(options: NextPageOptions): string {
  const { url, rawQuery, cursor } = options;
  const kept = rawQuery.split("&").filter((piece) =>
    piece !== "" && piece !== "cursor" && !piece.startsWith("cursor=")
  );
  return `${url}?${
    [...kept, `cursor=${encodeURIComponent(cursor)}`].join("&")
  }`;
}

/** The Link header that leads to the next page. */
export function nextPageLink(options: NextPageOptions): string {
  // What could end the reference or the header is written as an escape.
  const target = nextPageUrl(options).replaceAll(
    /[^\x21-\x7e]|[<>"\\^`{|}]/g,
    (character) => encodeURIComponent(character),
  );
  return `<${target}>; rel="next"`;
}
