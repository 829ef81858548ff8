/**
 * Reads and checks the bodies of requests to the mock by the schemas of the
 * real relayer: a request that the relayer refuses is refused by the mock, too.
 *
 * @module
 */

import { isObject } from "../memory/answer_reader.ts";
import type { Metadata } from "../memory/remember_types.ts";
import { quote } from "../memory/server_text.ts";
import { LIMITS, RELAYER_ROUTES } from "./relayer_routes.ts";

/** Thrown for a request that is answered with an error status. */
export class Refusal extends Error {
  /** Name of the class. */
  override readonly name: string = "Refusal";
  /** The status that is answered. */
  readonly status: number;

  /** A refusal; `message` becomes the answer's `error`. */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A schema of a value, with the keywords that the relayer's bodies have. */
interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly isRequired?: boolean;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: ValueSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** The members of an object; others are ignored unless it is closed. */
  readonly members?: Readonly<Record<string, ValueSchema>>;
  readonly isClosed?: boolean;
  /** The values of an object whose names the client chooses. */
  readonly values?: ValueSchema;
  readonly propertyNames?: ValueSchema;
  readonly maxProperties?: number;
}

type Routes = typeof RELAYER_ROUTES;

/** A route whose requests have a body. */
type BodyRoute = {
  [Route in keyof Routes]: Routes[Route] extends { readonly body: unknown }
    ? Route
    : never;
}[keyof Routes];

/** What is read of a value that a schema describes. */
type ValueOf<S> = S extends { readonly enum: readonly (infer Word)[] } ? Word
  : S extends { readonly type: "string" } ? string
  : S extends { readonly type: "number" } ? number
  : S extends { readonly type: "boolean" } ? boolean
  : S extends { readonly items: infer Item } ? readonly ValueOf<Item>[]
  : S extends { readonly members: infer Members } ? MembersOf<Members>
  : Metadata;

type MembersOf<Members> = {
  readonly [Name in keyof Members]:
    | ValueOf<Members[Name]>
    | (Members[Name] extends
      { readonly isRequired: true } | { readonly default: unknown } ? never
      : undefined);
};

/** What is read of the body of a route. */
export type BodyOf<Route extends BodyRoute> = MembersOf<Routes[Route]["body"]>;

/**
 * Reads the body of a request. Members that are absent or null have their
 * default, or are undefined.
 *
 * @param options.action What fails when the body is wrong, such as `recall`.
 * @throws {Refusal} When the relayer would refuse it.
 */
export function readBody<Route extends BodyRoute>(
  route: Route,
  json: unknown,
  { action }: { readonly action: string },
): BodyOf<Route> {
  const { body: members } = RELAYER_ROUTES[route];
  const body = read(json, { type: "object", members }, { action, name: "" });
  // The type is made of the schema that the value is read by.
  return body as BodyOf<Route>;
}

/** Where a value stands, for error messages. */
interface Place {
  readonly action: string;
  readonly name: string;
}

function read(value: unknown, schema: ValueSchema, place: Place): unknown {
  const { type = "string", enum: words } = schema;
  const kind = Array.isArray(value) ? "array" : typeof value;
  if (value === null || ![type].flat().includes(kind)) {
    throw fault(place, MISFITS[String(type)] ?? "is not a plain value");
  }
  if (words !== undefined && !words.some((word) => word === value)) {
    throw fault(place, `is not one of "${words.join('", "')}"`);
  }
  if (typeof value === "string") checkText(value, schema, place);
  if (typeof value === "number") checkNumber(value, schema, place);
  if (Array.isArray(value)) return readList(value, schema, place);
  return isObject(value) ? readObject(value, schema, place) : value;
}

const MISFITS: Readonly<Record<string, string>> = {
  string: "is not text",
  number: "is not a number",
  boolean: "is neither true nor false",
  array: "is not a list",
  object: "is not an object",
};

function readList(
  values: readonly unknown[],
  { items = {}, minItems = 0, maxItems = Infinity }: ValueSchema,
  place: Place,
): unknown {
  const { length } = values;
  if (length < minItems) throw fault(place, `has fewer than ${minItems} items`);
  if (length > maxItems) throw fault(place, `has more than ${maxItems} items`);
  return values.map((value, at) =>
    read(value, items, { ...place, name: `${place.name}[${at}]` })
  );
}

function readObject(
  value: Readonly<Record<string, unknown>>,
  schema: ValueSchema,
  place: Place,
): unknown {
  const { members = {}, values } = schema;
  const given = Object.entries(value);
  if (given.length > (schema.maxProperties ?? Infinity)) {
    throw fault(place, `has more than ${schema.maxProperties} members`);
  }
  const at = (name: string): Place => ({
    ...place,
    name: place.name === "" ? name : `${place.name}.${name}`,
  });
  if (values !== undefined) {
    return Object.fromEntries(given.map(([name, member]) => {
      read(name, schema.propertyNames ?? {}, at(name));
      const state = nameState(name);
      if (state !== undefined) throw fault(at(name), state);
      return [name, read(member, values, at(name))];
    }));
  }
  const unknown = given.find(([name]) => !Object.hasOwn(members, name));
  if (schema.isClosed === true && unknown !== undefined) {
    throw fault(at(unknown[0]), "is not known");
  }
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => {
      const own = Object.hasOwn(value, name) ? value[name] : undefined;
      if (own !== undefined && own !== null) {
        const taken = read(own, member, at(name));
        const state = RULES[name]?.(taken);
        if (state !== undefined) throw fault(at(name), state);
        return [name, taken];
      }
      if (member.isRequired === true) throw fault(at(name), "is missing");
      return [name, member.default];
    }),
  );
}

/**
 * Checks a text. The relayer counts bytes of UTF-8; the schema says nothing of
 * those of a value in metadata.
 */
function checkText(
  text: string,
  { minLength = 0, maxLength = LIMITS.metadataValueBytes, ...schema }:
    ValueSchema,
  place: Place,
): void {
  if (/\p{Surrogate}/u.test(text)) {
    throw fault(place, "has half a surrogate pair");
  }
  if (schema.enum !== undefined) return;
  if (schema.format === "byte") {
    if (BASE64.test(text)) return;
    throw fault(place, "is not base64");
  }
  if (schema.format === "date-time") {
    if (isInstant(text)) return;
    throw fault(place, "is not a time such as 2030-01-31T12:00:00Z");
  }
  if (countBytes(text) > maxLength) {
    throw fault(place, `has more than ${maxLength} bytes`);
  }
  if (minLength > 0 && text.trim() === "") throw fault(place, "is blank");
  // Only ids have patterns.
  if (!new RegExp(schema.pattern ?? "", "u").test(text)) {
    const state = `is not an id: 1 to ${maxLength} letters, digits, _ and -`;
    throw fault(place, state);
  }
}

function checkNumber(
  value: number,
  { minimum = -Infinity, maximum = Infinity }: ValueSchema,
  place: Place,
): void {
  if (!Number.isFinite(value)) throw fault(place, "is no finite number");
  if (value < minimum) throw fault(place, `is less than ${minimum}`);
  if (value > maximum) throw fault(place, `is greater than ${maximum}`);
}

const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function isInstant(text: string): boolean {
  const [whole = "", year, month, day] = INSTANT.exec(text) ?? [];
  // `Date.parse` takes the 30th of February for the 2nd of March.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0));
  return !Number.isNaN(Date.parse(whole)) &&
    Number(day) <= lastDay.getUTCDate();
}

/** What schemas do not say of members, by the members' names. */
const RULES: Readonly<Record<string, (value: unknown) => string | undefined>> =
  {
    namespace: nameState,
    idempotency_key: nameState,
    limit: (value) =>
      Number.isInteger(value) ? undefined : "is not a whole number",
    deadline_ms: (value) => Number(value) > 0 ? undefined : "is not above 0",
    vector: (value) =>
      Object.values(Object(value)).every((one) => one === 0)
        ? "has no direction: all its numbers are 0"
        : undefined,
    scoring_weights(value) {
      const { recency, recency_half_life_days: days } = Object(value);
      return recency > 0 && days < LIMITS.halfLifeDays
        ? `has recency_half_life_days below ${LIMITS.halfLifeDays}`
        : undefined;
    },
  };

function nameState(value: unknown): string | undefined {
  return /\p{Cc}/u.test(String(value)) ? "has a control character" : undefined;
}

function fault({ action, name }: Place, state: string): Refusal {
  const subject = name === "" ? "the body" : quote(name);
  return new Refusal(400, `Cannot ${action}: ${subject} ${state}`);
}

/** Tells whether a text has the form of a memory's id. */
export function isRecordId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text);
}

/** Returns the number of bytes of a text in UTF-8. */
export function countBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
