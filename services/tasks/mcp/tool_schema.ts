/**
 * Schemas of tools, made of the schemas of the API's routes: whole in
 * themselves, while those of the API refer to components of its document.
 *
 * @module
 */

import {
  DEFINITIONS_POINTER,
  isJsonObject,
  type JsonSchema,
  said,
  type Shape,
  shownObject,
} from "../../shared/schema/schema.ts";
import type { AnyRoute } from "../http/route.ts";

/** The schema of a shape with the definitions that it refers to in place. */
export function wholeSchema({ json, definitions }: Shape): JsonSchema {
  const known = definitions();
  const inPlace = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inPlace);
    if (!isJsonObject(value)) return value;
    const { $ref, ...rest } = value;
    const name = typeof $ref === "string" &&
        $ref.startsWith(DEFINITIONS_POINTER)
      ? $ref.slice(DEFINITIONS_POINTER.length)
      : undefined;
    const target = name === undefined ? {} : known.get(name) ?? {};
    return Object.fromEntries(
      Object.entries({ ...target, ...rest }).map((
        [key, member],
      ) => [key, inPlace(member)]),
    );
  };
  return inPlace(json) as JsonSchema;
}

/**
 * The same schema in few words: of values that the API takes in several forms,
 * such as durations, it shows the one that is a text, and no null. The API
 * takes the other forms all the same.
 */
function plainForms(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, ({ type, anyOf, examples, ...rest }) => {
    const forms = anyOf?.filter((form) => form.type !== "null") ?? [];
    const hasText = forms.some((form) => form.type === "string");
    const kept = forms.filter((form) => !hasText || !isOfUnits(form));
    const [only, ...others] = kept;
    const kinds = typeof type === "string" ? [type] : type ?? [];
    const plain = kinds.filter((kind) => kind !== "null");
    const shown = examples?.filter((one) => typeof one !== "object");
    return {
      ...only !== undefined && others.length === 0 ? only : {},
      ...others.length > 0 ? { anyOf: kept } : {},
      ...plain.length === 0 ? {} : {
        type: plain.length === 1 ? plain[0]! : plain,
      },
      ...shown === undefined || shown.length === 0 ? {} : { examples: shown },
      ...rest,
    };
  });
}

/** Whether an object is a sum of units, such as `{ "hours": 1 }`. */
function isOfUnits({ type, properties = {} }: JsonSchema): boolean {
  const members = Object.values(properties);
  return type === "object" && members.length > 0 &&
    members.every((member) => member.type === "number");
}

/**
 * The same schema without words, and without the members of objects that are
 * below `depth` other objects: programs that check answers need no more.
 */
function outline(schema: JsonSchema, depth: number): JsonSchema {
  const { description: _, examples: __, title: ___, ...rest } = schema;
  const { properties, required, additionalProperties, items, anyOf, ...own } =
    rest;
  const isCut = properties !== undefined && depth === 0;
  return {
    ...own,
    ...anyOf === undefined
      ? {}
      : { anyOf: anyOf.map((form) => outline(form, depth)) },
    ...items === undefined ? {} : { items: outline(items, depth) },
    ...properties === undefined || isCut ? {} : {
      properties: mapMembers(properties, (one) => outline(one, depth - 1)),
    },
    ...required === undefined || isCut ? {} : { required },
    ...typeof additionalProperties !== "boolean" || isCut
      ? {}
      : { additionalProperties },
  };
}

function mapSchema(
  schema: JsonSchema,
  change: (schema: JsonSchema) => JsonSchema,
): JsonSchema {
  const { properties, items, anyOf, ...rest } = schema;
  const inner = (one: JsonSchema) => mapSchema(one, change);
  return change({
    ...rest,
    ...properties === undefined
      ? {}
      : { properties: mapMembers(properties, inner) },
    ...items === undefined ? {} : { items: inner(items) },
    ...anyOf === undefined ? {} : { anyOf: anyOf.map(inner) },
  });
}

function mapMembers(
  members: Readonly<Record<string, JsonSchema>>,
  change: (schema: JsonSchema) => JsonSchema,
): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, change(member)]),
  );
}

/**
 * How deep the members of answers are described: not at all, as some clients
 * show a model all schemas, and the documents explain themselves.
 */
const ANSWER_DEPTH = 0;

/**
 * The schema of what a route answers, without words.
 *
 * @throws {TypeError} when the route has no such answer
 */
export function answerSchema(route: AnyRoute, status = 200): JsonSchema {
  const found = route.answers[status]?.shape;
  if (found === undefined) {
    throw new TypeError(
      `Cannot make tool: "${route.operationId}" has no answer ${status}`,
    );
  }
  const whole = wholeSchema(found);
  // A task has a member of this name, too.
  const isPage = whole.properties?.["data"]?.type === "array";
  return outline(whole, isPage ? ANSWER_DEPTH + 1 : ANSWER_DEPTH);
}

/** The schema of `structuredContent`: documents by their names, and a notice. */
export function outputSchema(
  documents: Readonly<Record<string, JsonSchema>>,
  mayLack: readonly string[] = [],
): JsonSchema {
  return shownObject(
    { ...documents, notice: said("How to take the documents") },
    mayLack,
  );
}

/** The arguments that a route takes, by name, and where each belongs. */
export interface RouteArguments {
  /** The parameters of the path. */
  readonly path: Readonly<Record<string, JsonSchema>>;
  /** The parameters of the query. */
  readonly query: Readonly<Record<string, JsonSchema>>;
  /** The members of the body. */
  readonly body: Readonly<Record<string, JsonSchema>>;
  /** The names of those that have to be there. */
  readonly required: readonly string[];
}

/** Reads from a route which arguments it takes. */
export function argumentsOf(route: AnyRoute): RouteArguments {
  const { definitions } = route.query;
  const path = [...route.path.matchAll(/:([a-z_]+)/g)].map((
    [, name = ""],
  ) => [name, said("Its id")] as const);
  const body: JsonSchema = route.body === undefined
    ? {}
    : plainForms(wholeSchema(route.body.shape));
  return {
    path: Object.fromEntries(path),
    query: Object.fromEntries(
      route.query.parameters.map((
        { name, json },
      ) => [name, wholeSchema({ json, definitions })]),
    ),
    body: body.properties ?? {},
    required: [
      ...path.map(([name]) => name),
      ...route.query.parameters.flatMap(({ name, isRequired }) =>
        isRequired ? [name] : []
      ),
      ...body.required ?? [],
    ],
  };
}
