/**
 * Schemas of request bodies, and the types of values in them: texts, ids,
 * vectors, times, metadata. {@linkcode faultText} puts what is wrong with a
 * body into words.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { quote } from "../../shared/quote.ts";
import {
  type Parsed,
  parsed,
  record,
  refined,
} from "../../shared/schema/composite.ts";
import {
  cannotTake,
  type Fault,
  type Place,
  pointerTo,
  report,
  reportKind,
} from "../../shared/schema/fault.ts";
import {
  type DefaultField,
  type Fields,
  object,
  type ObjectOf,
  optional,
  type OptionalField,
  withDefault,
} from "../../shared/schema/object.ts";
import {
  createSchema,
  described,
  type Schema,
  type ValueOf,
} from "../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  number,
  text as plainText,
} from "../../shared/schema/values.ts";
import type { Ordering, Ranking } from "../recall/recall_request.ts";
import type { Metadata } from "../vault/vault.ts";

/** The namespace of requests that do not name one. */
const DEFAULT_NAMESPACE = "default";

/** Longest text that is remembered, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 1_048_576;

/** Longest text that a model gets, in bytes of UTF-8. */
export const MAX_MODEL_TEXT_BYTES = 65_536;

const MAX_NAME_BYTES = 255;
const MAX_METADATA_MEMBERS = 32;
const MAX_METADATA_NAME_BYTES = 64;
/** Most bytes of a text in metadata. */
export const MAX_METADATA_VALUE_BYTES = 1_024;
/** The longest half-life of recency: a hundred years. */
const MAX_HALF_LIFE_DAYS = 36_500;
/** The shortest half-life of recency that has an effect. */
export const MIN_HALF_LIFE_DAYS = 1e-6;
const CONTROL = /\p{Cc}/u;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Makes the schema of an object. Unknown members are ignored, since newer
 * clients may send more, and null means absent, since clients in other
 * languages send it.
 */
export function members<F extends Fields>(fields: F): Schema<ObjectOf<F>> {
  return object(fields, { isOpen: true, isNullAbsent: true });
}

/** Says what is wrong with a body, as the second half of a message. */
export function faultText({ pointer, detail }: Fault): string {
  const name = pointer.slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, "[$1]").replaceAll("/", ".")
    .replaceAll("~1", "/").replaceAll("~0", "~");
  const subject = name === "" ? "the body" : quote(name);
  // Details have the form "Cannot ...: it ...", and here the name of the member
  // replaces "it".
  const [, state = detail] = /^Cannot .*?: (.*)$/s.exec(detail) ?? [];
  return state.startsWith("it ")
    ? `${subject} ${state.slice("it ".length)}`
    : `${subject}: ${state}`;
}

/**
 * Makes the schema of a text that is not blank and has at most `maxBytes` of
 * UTF-8. Half a surrogate pair is refused, since it has no UTF-8 form.
 */
export function text(maxBytes: number): Schema<string> {
  const json = { type: "string", minLength: 1, maxLength: maxBytes } as const;
  return createSchema(json, (value, at, faults) => {
    if (typeof value !== "string") {
      return reportKind(value, { at, faults, wanted: "text" });
    }
    const state = utf8Fault(value, maxBytes);
    if (state !== undefined) return refuse(state, { at, faults });
    return value.trim() === "" ? refuse("it is blank", { at, faults }) : value;
  });
}

/** A name: a short text without control characters. */
export const SHORT_NAME: Schema<string> = parsed(
  text(MAX_NAME_BYTES),
  (value): Parsed<string> =>
    CONTROL.test(value)
      ? invalid("it has a control character")
      : { kind: "ok", value },
);

/** The id of a job or a memory. */
export const RECORD_ID: Schema<string> = plainText({
  minLength: 1,
  maxLength: 64,
  pattern: ID,
  mustBe: "an id: 1 to 64 letters, digits, _ and -",
});

/** The id of a blob, in whatever form its store gives it. */
export const BLOB_ID: Schema<string> = plainText({
  minLength: 1,
  maxLength: 128,
  pattern: /^[A-Za-z0-9_-]{1,128}$/,
  mustBe: "a blob's id: 1 to 128 letters, digits, _ and -",
});

/** Whether a text has the form of an id of a job or a memory. */
export function isRecordId(id: string): boolean {
  return ID.test(id);
}

/** Bytes as base64 with padding (RFC 4648, 4); at least one byte. */
export const BASE64_BYTES: Schema<Uint8Array<ArrayBuffer>> = createSchema(
  { type: "string", format: "byte" },
  (value, at, faults) => {
    if (typeof value !== "string") {
      return reportKind(value, { at, faults, wanted: "base64" });
    }
    if (value === "") return refuse("it is empty", { at, faults });
    return value.length % 4 === 0 && BASE64.test(value)
      ? new Uint8Array(Buffer.from(value, "base64"))
      : refuse("it is not base64", { at, faults });
  },
);

/**
 * Makes the schema of a whole number from 1; a number above `max` becomes
 * `max`.
 */
export function cappedCount(max: number): Schema<number> {
  return parsed(number({ minimum: 1 }), whole((value) => Math.min(value, max)));
}

/**
 * Makes the schema of a whole number; numbers outside of the range become its
 * nearest bound.
 */
export function clampedCount(
  { min, max }: { readonly min: number; readonly max: number },
): Schema<number> {
  return parsed(
    number(),
    whole((value) => Math.min(Math.max(value, min), max)),
  );
}

/** Makes the schema of a number above 0; a number above `max` becomes `max`. */
export function cappedPositive(max: number): Schema<number> {
  return parsed(
    number(),
    (value): Parsed<number> =>
      value > 0
        ? { kind: "ok", value: Math.min(value, max) }
        : invalid("it is not above 0"),
  );
}

/**
 * Makes the schema of a vector of `width` numbers, which is scaled to length 1.
 * A vector of length 0 is refused: it has no direction to compare.
 */
export function unitVector(width: number): Schema<Float32Array> {
  const items = { type: "number" } as const;
  const bounds = { minItems: width, maxItems: width };
  return createSchema(
    { type: "array", items, ...bounds },
    (value, at, faults) => {
      if (!Array.isArray(value)) {
        return reportKind(value, { at, faults, wanted: "a list" });
      }
      const items: readonly unknown[] = value;
      if (items.length !== width) {
        const state = `it has ${items.length} numbers, not ${width}`;
        return refuse(state, { at, faults });
      }
      const numbers = new Float64Array(width);
      let largest = 0;
      for (const [index, item] of items.entries()) {
        if (typeof item !== "number" || !Number.isFinite(item)) {
          const place = { at: pointerTo(at, index), faults };
          return refuse("it is not a finite number", place);
        }
        numbers[index] = item;
        largest = Math.max(largest, Math.abs(item));
      }
      return largest === 0
        ? refuse("it has no direction: all its numbers are 0", { at, faults })
        : normalized(numbers, largest);
    },
  );
}

/** An instant (RFC 3339), as milliseconds since the epoch. */
export const INSTANT_MS: Schema<number> = createSchema(
  { type: "string", format: "date-time" },
  (value, at, faults) => {
    const match = typeof value === "string" ? INSTANT.exec(value) : null;
    const ms = match === null ? NaN : Date.parse(match[0]);
    const [, year, month, day] = (match ?? []).map(Number);
    // The runtime takes the 30th of February for the 2nd of March.
    return Number.isNaN(ms) ||
        Number(day) > lastDay(Number(year), Number(month))
      ? refuse("it is not a time such as 2030-01-31T12:00:00Z", { at, faults })
      : ms;
  },
);

/** A namespace. */
export const NAMESPACE: DefaultField<string> = withDefault(
  described(SHORT_NAME, "The namespace; memories of others are not seen"),
  DEFAULT_NAMESPACE,
);

/** How much a memory matters, from 0 to 1. */
export const IMPORTANCE: OptionalField<number> = optional(
  described(number({ minimum: 0, maximum: 1 }), "How much it matters"),
);

/** Metadata that a client sends with a memory. */
export const METADATA: Schema<Metadata> = record<string | number | boolean>(
  createSchema({ type: ["string", "number", "boolean"] }, readMetadataValue),
  {
    maxEntries: MAX_METADATA_MEMBERS,
    names: createSchema(
      { minLength: 1, maxLength: MAX_METADATA_NAME_BYTES },
      (value, at, faults) =>
        typeof value === "string" && isMetadataName(value) ? value : refuse(
          `it is not a name of 1 to ${MAX_METADATA_NAME_BYTES} bytes ` +
            "without control characters",
          { at, faults },
        ),
    ),
  },
);

function weight(of: string): Schema<number> {
  return described(
    number({ minimum: 0, maximum: 100 }),
    `How much ${of} counts beside the other weights`,
  );
}

/** The weights of a ranking, as clients send them. */
const WEIGHTS = refined(
  // A closed object: a misspelt weight would silently have no effect.
  object({
    semantic: withDefault(weight("likeness to the question"), 1),
    recency: withDefault(weight("a memory's youth"), 0),
    recency_half_life_days: withDefault(
      number({ minimum: 0, maximum: MAX_HALF_LIFE_DAYS }),
      30,
      "Days after which a memory's youth counts half",
    ),
    importance: withDefault(weight("what writers gave as `importance`"), 0),
  }, { isNullAbsent: true }),
  ({ recency, recency_half_life_days: halfLifeDays }) =>
    recency > 0 && halfLifeDays < MIN_HALF_LIFE_DAYS
      ? [{
        pointer: "/recency_half_life_days",
        reason: cannotTake(`it is below ${MIN_HALF_LIFE_DAYS}`),
      }]
      : [],
);

type Weights = ValueOf<typeof WEIGHTS>;

/** Members of a request that set the order of results. */
export const ORDERING_FIELDS: {
  readonly sort: OptionalField<"relevance" | "recent">;
  readonly scoring_weights: OptionalField<Weights>;
} = {
  sort: optional(
    described(
      choice(["relevance", "recent"]),
      "The order; over any `scoring_weights`",
    ),
  ),
  scoring_weights: optional(
    described(WEIGHTS, "What a memory's place is the weighed sum of"),
  ),
};

/**
 * Members of a request that set what finds and ranks memories, and whether the
 * answer explains the ranking.
 */
export const RANKING_FIELDS: {
  readonly ranking: OptionalField<Ranking>;
  readonly explain: OptionalField<boolean>;
} = {
  ranking: optional(
    described(
      choice(["semantic", "fused"]),
      "What finds memories: vectors alone, or words as well",
    ),
  ),
  explain: optional(
    described(boolean(), "Whether to tell what each rank is made of"),
  ),
};

/**
 * Returns the order of results that a request asks for. `sort` wins over
 * weights; weights of nothing but similarity are the order by distance.
 */
export function toOrdering(
  { sort, scoring_weights: weights }: {
    readonly sort?: "relevance" | "recent" | undefined;
    readonly scoring_weights?: Weights | undefined;
  },
): Ordering {
  if (sort !== undefined) return { kind: sort };
  if (weights === undefined) return { kind: "relevance" };
  const { semantic, recency, importance } = weights;
  if (recency === 0 && importance === 0) return { kind: "relevance" };
  const recencyHalfLifeDays = Math.max(
    weights.recency_half_life_days,
    MIN_HALF_LIFE_DAYS,
  );
  return {
    kind: "weighed",
    weights: { semantic, recency, recencyHalfLifeDays, importance },
  };
}

function refuse(state: string, { at, faults }: Place): undefined {
  const detail = cannotTake(state);
  return report(faults, { pointer: at, code: "invalid_value", detail });
}

function invalid(state: string): Parsed<never> {
  return { kind: "invalid", reason: cannotTake(state) };
}

function whole(move: (value: number) => number) {
  return (value: number): Parsed<number> =>
    Number.isInteger(value)
      ? { kind: "ok", value: move(value) }
      : invalid("it is not a whole number");
}

function utf8Fault(value: string, maxBytes: number): string | undefined {
  if (!value.isWellFormed()) return "it has half a surrogate pair";
  return Buffer.byteLength(value) > maxBytes
    ? `it has more than ${maxBytes} bytes`
    : undefined;
}

function readMetadataValue(
  value: unknown,
  at: string,
  faults: Fault[],
): string | number | boolean | undefined {
  switch (typeof value) {
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value)
        ? value
        : refuse("it is not a finite number", { at, faults });
    case "string": {
      const state = utf8Fault(value, MAX_METADATA_VALUE_BYTES);
      return state === undefined ? value : refuse(state, { at, faults });
    }
    default:
      return reportKind(value, {
        at,
        faults,
        wanted: "text, a number or a boolean",
      });
  }
}

function isMetadataName(name: string): boolean {
  const bytes = Buffer.byteLength(name);
  return bytes > 0 && bytes <= MAX_METADATA_NAME_BYTES && !CONTROL.test(name) &&
    name.isWellFormed();
}

function lastDay(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/**
 * Scales a vector to length 1. The numbers are divided by the largest one
 * first, so that no square overflows.
 */
function normalized(numbers: Float64Array, largest: number): Float32Array {
  let squares = 0;
  for (const number of numbers) squares += (number / largest) ** 2;
  const length = Math.sqrt(squares);
  return Float32Array.from(numbers, (number) => number / largest / length);
}
