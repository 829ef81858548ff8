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

/** The same schema without words for people, for the output of tools. */
function withoutWords(schema: JsonSchema): JsonSchema {
  const bare = (value: unknown, isMap: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => bare(item, false));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => isMap || key !== "description" && key !== "examples")
        .map(([key, member]) => {
          const isWhole = key === "enum" || key === "const" ||
            key === "default";
          const holdsNames = !isMap &&
            (key === "properties" || key === "patternProperties");
          return [key, isWhole && !isMap ? member : bare(member, holdsNames)];
        }),
    );
  };
  return bare(schema, false) as JsonSchema;
}

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
  return withoutWords(wholeSchema(found));
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
    : wholeSchema(route.body.shape);
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
