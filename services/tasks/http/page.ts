/**
 * Pages of lists: their parameters, their shape, and the cursor and the link that
 * lead to the next one.
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
  exampleOf,
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
   * What else tells the list from others: its path, filter, order. See
   * {@linkcode filterTextOf}.
   */
  readonly filter: string;
}

/** The outcome of opening a cursor. */
type CursorOutcome =
  | {
    readonly kind: "ok";
    /** What was sealed. */
    readonly position: JsonValue;
  }
  | {
    /** It is not one of this list. */
    readonly kind: "bad_cursor";
  };

/** The key has as many bytes at least. */
const MIN_KEY_BYTES = 16;

/** A truncated tag of 128 bits (RFC 2104, 5). */
const TAG_BYTES = 16;

const MAX_CURSOR_LENGTH = 2_048;

/** Keeps other uses of the same key from making cursors. */
const PURPOSE = "tercet cursor 1";

/** Seals and opens cursors with one key. */
export class Cursors {
  readonly #key: Uint8Array;

  /**
   * Cursors that a key seals; other keys cannot open them.
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

  /** Reads the position of a cursor of the same list. */
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
    // As a JSON list, no two scopes come to the same text.
    const bound = JSON.stringify([PURPOSE, scope.tenantId, scope.filter]);
    return createHmac("sha256", this.#key)
      .update(`${bound}\n`)
      .update(payload)
      .digest()
      .subarray(0, TAG_BYTES);
  }
}

const BAD_CURSOR: CursorOutcome = { kind: "bad_cursor" };

/** A filter as text, the same whatever the order its members are written in. */
export function filterTextOf(
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
  const detail = "Cannot go on from cursor: it is not one of this list; " +
    "begin with the first page";
  return problem("bad_cursor", {
    detail,
    errors: [{ parameter: "cursor", code: "bad_cursor", detail }],
  });
}

/** The request of a page, and where the next one begins. */
interface NextPageOptions {
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

/** Most entries of a page. */
const MAX_PAGE = 200;

/** The parameters that every list has. */
export const PAGE_FIELDS: {
  readonly limit: DefaultField<number>;
  readonly cursor: OptionalField<string>;
} = {
  limit: withDefault(
    described(integerText({ minimum: 1, maximum: MAX_PAGE }), "Most entries"),
    50,
  ),
  cursor: optional(described(
    text({ minLength: 1, maxLength: 2_048 }),
    "Where the page begins: `next` of the page before",
  )),
};

/** What every query of a list reads. */
interface PageQuery {
  /** Most entries of the page. */
  readonly limit: number;
  /** Where it begins. */
  readonly cursor?: string;
}

/** The shape of a page, as a component of that name. */
export function pageShape<T>(
  name: string,
  item: Schema<T>,
): Schema<{ readonly data: readonly T[]; readonly next: string | null }> {
  const example = exampleOf(item);
  return named(
    name,
    described(
      object({
        data: list(item, { maxItems: MAX_PAGE }),
        next: described(
          nullable(text({ maxLength: 2_048 })),
          "The cursor of the next page; null at the end",
        ),
      }),
      example === undefined
        ? {}
        : { examples: [{ data: [example], next: null }] },
    ),
  );
}

/** Entries of a page. */
interface PageEntries {
  /** The entries as the API shows them. */
  readonly data: readonly unknown[];
  /** Where the next page begins; absent at the end. */
  readonly next?: JsonValue | undefined;
  /**
   * Further members of the body.
   * @default none
   */
  readonly members?: Readonly<Record<string, unknown>>;
  /**
   * Writes the body, with the texts that the entries embed.
   * @default nothing is embedded
   */
  readonly embedded?: EmbeddedJson | undefined;
}

/** How a page is read. */
interface PageOptions {
  /** Seals the places where pages go on. */
  readonly cursors: Cursors;
  /** Whose list it is. */
  readonly tenantId: string;
  /** What else tells the list from others. */
  readonly filter: string;
  /** The parameters. */
  readonly query: PageQuery;
  /** The address of the list. */
  readonly url: string;
  /** Reads the entries behind a position, `undefined` for the first page. */
  readonly read: (
    position: JsonValue | undefined,
  ) => Promise<PageEntries>;
}

/** Answers a page of a list. */
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
