/**
 * Pages of lists: their parameters, the shape of their body, and the cursor and
 * the link of the next page.
 *
 * @module
 */

import type { EmbeddedJson } from "../engine/stored_json.ts";
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { list, nullable } from "../../shared/schema/composite.ts";
import {
  type DefaultField,
  object,
  optional,
  type OptionalField,
  withDefault,
} from "../../shared/schema/object.ts";
import { integerText } from "../../shared/schema/query_values.ts";
import {
  described,
  findExample,
  isJsonObject,
  type JsonValue,
  named,
  type Schema,
} from "../../shared/schema/schema.ts";
import { text } from "../../shared/schema/values.ts";
import { type Answer, json } from "./answer.ts";
import type { CallContext } from "./call.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** The list a cursor belongs to. */
interface CursorScope {
  /** The tenant. */
  readonly tenantId: string;
  /**
   * What else identifies the list: its path, filter and order. See
   * {@linkcode formatFilter}.
   */
  readonly filter: string;
}

/** The outcome of opening a cursor. */
type CursorOutcome =
  | {
    readonly kind: "ok";
    /** The position that was sealed. */
    readonly position: JsonValue;
  }
  | {
    /** The cursor is not one of this list. */
    readonly kind: "bad_cursor";
  };

/** Fewest bytes that the key may have. */
const MIN_KEY_BYTES = 16;

/** Bytes of a cursor's truncated HMAC tag: 128 bits (RFC 2104, 5). */
const TAG_BYTES = 16;

const MAX_CURSOR_LENGTH = 2_048;

/**
 * Part of what is signed, so that other uses of the same key cannot make
 * cursors.
 */
const PURPOSE = "tercet cursor 1";

/** Signs cursors with a key, and reads them back. */
export class Cursors {
  readonly #key: Uint8Array;

  /**
   * Uses one key. Cursors of other keys cannot be opened.
   *
   * @throws {RangeError} when the key has fewer than 16 bytes
   */
  constructor(key: Uint8Array) {
    if (key.byteLength < MIN_KEY_BYTES) {
      throw new RangeError(
        `Cannot seal cursors: the key has ${key.byteLength} bytes, ` +
          `${MIN_KEY_BYTES} are needed`,
      );
    }
    this.#key = Uint8Array.from(key);
  }

  /** Makes the cursor of a position. Clients can read it, but not change it. */
  seal(scope: CursorScope, position: JsonValue): string {
    const payload = Buffer.from(JSON.stringify(position), "utf8");
    const tag = this.#tag(scope, payload);
    return Buffer.concat([tag, payload]).toString("base64url");
  }

  /** Reads the position of a cursor, which must be one of the same list. */
  open(scope: CursorScope, cursor: string): CursorOutcome {
    if (cursor.length > MAX_CURSOR_LENGTH || !/^[\w-]+$/.test(cursor)) {
      return BAD_CURSOR;
    }
    const bytes = Buffer.from(cursor, "base64url");
    if (bytes.byteLength <= TAG_BYTES) return BAD_CURSOR;
    const payload = bytes.subarray(TAG_BYTES);
    const tag = bytes.subarray(0, TAG_BYTES);
    if (!timingSafeEqual(tag, this.#tag(scope, payload))) return BAD_CURSOR;
    // Only what seal() wrote has a good tag.
    const position: JsonValue = JSON.parse(payload.toString("utf8"));
    return { kind: "ok", position };
  }

  #tag(scope: CursorScope, payload: Uint8Array): Buffer {
    // As a JSON list, no two scopes have the same text.
    const bound = JSON.stringify([PURPOSE, scope.tenantId, scope.filter]);
    return createHmac("sha256", this.#key)
      .update(`${bound}\n`)
      .update(payload)
      .digest()
      .subarray(0, TAG_BYTES);
  }
}

const BAD_CURSOR: CursorOutcome = { kind: "bad_cursor" };

/** A filter as text, which is the same whatever the order of its members. */
export function formatFilter(
  filter: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify(filter, (_key, value: unknown) => {
    if (!isJsonObject(value)) return value;
    const sorted = Object.entries(value).sort(([left], [right]) =>
      left < right ? -1 : 1
    );
    return Object.fromEntries(sorted);
  });
}

/** The problem of a cursor that cannot be opened. */
export function badCursor(): ProblemAnswer {
  const detail = "Cannot use cursor: it does not belong to this list; begin " +
    "with the first page";
  return problem("bad_cursor", {
    detail,
    errors: [{ parameter: "cursor", code: "bad_cursor", detail }],
  });
}

/** The request for a page, and the cursor of the next one. */
interface NextPageOptions {
  /** The address of the list, without query. */
  readonly url: string;
  /** The query of the request, without question mark. */
  readonly rawQuery: string;
  /** The cursor of the next page. */
  readonly cursor: string;
}

/** The URL of the next page: that of this page, with the next cursor. */
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
  // Characters that could end the reference or the header are escaped.
  const target = nextPageUrl(options).replaceAll(
    /[^\x21-\x7e]|[<>"\\^`{|}]/g,
    (character) => encodeURIComponent(character),
  );
  return `<${target}>; rel="next"`;
}

/** Most entries of a page. */
const MAX_PAGE = 200;

/** The query parameters that every list has. */
export const PAGE_FIELDS: {
  readonly limit: DefaultField<number>;
  readonly cursor: OptionalField<string>;
} = {
  limit: withDefault(
    described(
      integerText({ minimum: 1, maximum: MAX_PAGE }),
      "Most entries of the page",
    ),
    50,
  ),
  cursor: optional(described(
    text({ minLength: 1, maxLength: MAX_CURSOR_LENGTH }),
    "Where the page begins: `next` of the page before",
  )),
};

/** The query that every list reads. */
interface PageQuery {
  /** Most entries of the page. */
  readonly limit: number;
  /** The cursor of the page; absent for the first one. */
  readonly cursor?: string;
}

/** What a page and its members mean. */
export const PAGE_WORDS = {
  page: "A page of a list",
  data: "What is on the page, in the order of the list",
  next: "The `cursor` of the next page, also after one that is short or " +
    "empty; null at the end",
} as const;

/** The shape of a page's body, as a named component of the document. */
export function pageShape<T>(
  name: string,
  item: Schema<T>,
): Schema<{ readonly data: readonly T[]; readonly next: string | null }> {
  const example = findExample(item);
  return named(
    name,
    described(
      object({
        data: described(list(item, { maxItems: MAX_PAGE }), PAGE_WORDS.data),
        next: described(
          nullable(text({ maxLength: MAX_CURSOR_LENGTH })),
          PAGE_WORDS.next,
        ),
      }),
      {
        description: PAGE_WORDS.page,
        ...(example === undefined
          ? {}
          : { examples: [{ data: [example], next: null }] }),
      },
    ),
  );
}

/** Entries of a page. */
interface PageEntries {
  /** The entries as the API shows them. */
  readonly data: readonly unknown[];
  /** The position where the next page begins; absent on the last page. */
  readonly next?: JsonValue | undefined;
  /**
   * Further members of the body.
   * @default none
   */
  readonly members?: Readonly<Record<string, unknown>>;
  /**
   * Writes the body where members of entries are JSON text already.
   * @default nothing is embedded
   */
  readonly embedded?: EmbeddedJson | undefined;
}

/** How a page is read. */
interface PageOptions {
  /** Signs the cursors. */
  readonly cursors: Cursors;
  /** The tenant whose list it is. */
  readonly tenantId: string;
  /** What else identifies the list, as text. */
  readonly filter: string;
  /** The page's query parameters. */
  readonly query: PageQuery;
  /** The URL of the list, without query. */
  readonly url: string;
  /** Reads the entries after a position; `undefined` is the first page. */
  readonly read: (
    position: JsonValue | undefined,
  ) => Promise<PageEntries>;
}

/** Answers a request for a page of a list. */
export async function answerPage(
  { rawQuery }: Pick<CallContext, "rawQuery">,
  options: PageOptions,
): Promise<Answer> {
  const { cursors, tenantId, filter, query, url, read } = options;
  const scope = { tenantId, filter };
  let position: JsonValue | undefined;
  if (query.cursor !== undefined) {
    const opened = cursors.open(scope, query.cursor);
    if (opened.kind === "bad_cursor") return badCursor();
    position = opened.position;
  }
  const { data, next, members, embedded } = await read(position);
  const cursor = next === undefined ? null : cursors.seal(scope, next);
  return json({ data, next: cursor, ...members }, {
    embedded,
    headers: cursor === null
      ? undefined
      : { link: nextPageLink({ url, rawQuery, cursor }) },
  });
}
