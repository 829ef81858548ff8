/**
 * Turns one route into an operation of the OpenAPI document.
 *
 * @module
 */

import type {
  OpenApiHeader,
  OpenApiMedia,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiReference,
  OpenApiResponse,
} from "../../shared/openapi/document.ts";
import type { QueryParameter } from "../../shared/schema/query.ts";
import {
  type Definitions,
  DEFINITIONS_POINTER,
  findExample,
  type JsonSchema,
  type Shape,
} from "../../shared/schema/schema.ts";
import { scopesOfRole } from "../access/scope.ts";
import type { Access } from "./admission.ts";
import type { AnswerShape, AnyRoute } from "./route.ts";
import {
  type HEADER_PARAMETERS,
  PATH_PARAMETERS,
  problemExampleReference,
  type SECURITY_SCHEMES,
} from "./openapi_document.ts";
import {
  PROBLEM_CODES,
  type ProblemCode,
  problemKind,
} from "./problem_catalog.ts";

/** The path of a route as OpenAPI writes it. */
export function pathTemplate(path: string): string {
  return path.replaceAll(/:([a-z][a-z0-9_]*)/g, "{$1}");
}

/** The operation of a route; its path and method are not part of it. */
export function describeOperation(route: AnyRoute): OpenApiOperation {
  const parameters = describeParameters(route);
  const description = formatDescription(route);
  const { body } = route;
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: description === "" ? undefined : description,
    tags: route.tags,
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: body && {
      required: !body.isOptional,
      content: Object.fromEntries(body.mediaTypes.map((type) => [type, {
        // A PATCH body is merged also when its type is plain JSON.
        schema: route.method === "PATCH"
          ? mergePatchSchema(body.shape)
          : body.shape.json,
        example: body.example,
      }])),
    },
    responses: describeResponses(route),
    security: describeSecurity(route.access),
  };
}

function formatDescription({ access, description = "" }: AnyRoute): string {
  if (access.kind !== "member") return description;
  const needs = `Needs the scope \`${access.scope}\`, which comes with the ` +
    `role ${access.role}.`;
  return description === "" ? needs : `${description}\n\n${needs}`;
}

function describeParameters(
  route: AnyRoute,
): (OpenApiParameter | OpenApiReference)[] {
  const inPath = [...route.path.matchAll(/:([a-z][a-z0-9_]*)/g)].map(
    ([, name = ""]): OpenApiParameter => {
      const json = route.params?.[name]?.json ?? { type: "string" };
      const {
        description = describePathParameter(route.path, name),
        ...schema
      } = json;
      return { name, in: "path", required: true, description, schema };
    },
  );
  const headers: OpenApiReference[] = [];
  if (route.isIdempotent === true) {
    headers.push(referToHeader("IdempotencyKey"));
  }
  if (route.conditions === "change") headers.push(referToHeader("IfMatch"));
  if (route.conditions === "read") headers.push(referToHeader("IfNoneMatch"));
  if (route.heedsPrefer === true) headers.push(referToHeader("Prefer"));
  return [...inPath, ...route.query.parameters.map(queryParameter), ...headers];
}

/** What a parameter of a path means: the segment before it tells. */
function describePathParameter(path: string, name: string): string | undefined {
  const segments = path.split("/");
  return PATH_PARAMETERS[segments[segments.indexOf(`:${name}`) - 1] ?? ""];
}

function referToHeader(name: keyof typeof HEADER_PARAMETERS): OpenApiReference {
  return { $ref: `#/components/parameters/${name}` };
}

function queryParameter(parameter: QueryParameter): OpenApiParameter {
  const { name, isRequired, json } = parameter;
  const { description, ...schema } = json;
  const isList = json.type === "array";
  const isObject = json.type === "object";
  return {
    name,
    in: "query",
    required: isRequired,
    description,
    // Lists are separated by commas; members of an object become parameters of
    // their own.
    style: isList || isObject ? "form" : undefined,
    explode: isList ? false : isObject ? true : undefined,
    schema,
  };
}

function describeResponses(
  route: AnyRoute,
): Readonly<Record<string, OpenApiResponse>> {
  const responses: [string, OpenApiResponse][] = [];
  for (const [status, answer] of Object.entries(route.answers)) {
    responses.push([status, goodResponse(route, answer)]);
  }
  if (route.conditions === "read") {
    const description = "It has the entity tag of If-None-Match still";
    responses.push(["304", { description, headers: { etag: ETAG } }]);
  }
  const byStatus = Map.groupBy(
    listProblems(route),
    (code) => problemKind(code).status,
  );
  for (const [status, codes] of byStatus) {
    responses.push([String(status), problemResponse(route, { status, codes })]);
  }
  return Object.fromEntries(responses);
}

const ETAG: OpenApiHeader = {
  description: "The entity tag of this version",
  schema: { type: "string" },
};

function goodResponse(route: AnyRoute, answer: AnswerShape): OpenApiResponse {
  const headers = Object.entries(answer.headers ?? {}).map(
    ([name, description]) => header(name.toLowerCase(), description),
  );
  // An answer without a body, such as that of a removal, has no version.
  if (route.conditions !== undefined && answer.shape !== undefined) {
    headers.push(["etag", ETAG]);
  }
  if (route.isIdempotent === true) {
    headers.push(REPLAYED);
  }
  if (route.heedsPrefer === true) {
    headers.push(header(
      "preference-applied",
      "`return=minimal` when that was preferred",
    ));
  }
  if (route.query.parameters.some(({ name }) => name === "cursor")) {
    headers.push(header("link", "The next page, unless this is the last"));
  }
  const { shape, contentType, pageType } = answer;
  const type = contentType ??
    (shape === undefined ? undefined : "application/json");
  const content: [string, OpenApiMedia][] = [];
  if (type !== undefined) content.push([type, describeMedia(answer)]);
  if (pageType !== undefined) {
    content.push([pageType, {
      schema: { type: "string" },
      example: "<!doctype html><title>…</title>",
    }]);
  }
  return {
    description: answer.description,
    headers: describeHeaders(headers),
    content: content.length === 0 ? undefined : Object.fromEntries(content),
  };
}

function header(
  name: string,
  description: string,
): readonly [string, OpenApiHeader] {
  return [name, { description, schema: { type: "string" } }];
}

function describeMedia({ shape, example }: AnswerShape): OpenApiMedia {
  return {
    schema: shape?.json,
    example: example ?? (shape && findExample(shape)),
  };
}

function describeHeaders(
  headers: readonly (readonly [string, OpenApiHeader])[],
): Readonly<Record<string, OpenApiHeader>> | undefined {
  return headers.length === 0 ? undefined : Object.fromEntries(headers);
}

function problemResponse(
  route: AnyRoute,
  { status, codes }: {
    readonly status: number;
    readonly codes: readonly ProblemCode[];
  },
): OpenApiResponse {
  const headers = [
    ...problemHeaders(status, codes),
    ...route.isIdempotent === true ? [REPLAYED] : [],
  ];
  return {
    description: codes.map((code) =>
      `\`${code}\`: ${problemKind(code).description}`
    ).join("\n\n"),
    headers: describeHeaders(headers),
    content: {
      "application/problem+json": {
        schema: { $ref: `${DEFINITIONS_POINTER}Problem` },
        examples: Object.fromEntries(
          codes.map((code) => [code, problemExampleReference(code)]),
        ),
      },
    },
  };
}

function problemHeaders(
  status: number,
  codes: readonly ProblemCode[],
): readonly (readonly [string, OpenApiHeader])[] {
  const retry = header("retry-after", "Seconds after which to try again");
  switch (status) {
    case 401:
    case 403:
      return [header("www-authenticate", "What is needed (RFC 6750)")];
    case 415:
      return [header("accept", "The types that are taken")];
    case 429:
      return [
        retry,
        header("ratelimit", "What is left of the rate"),
        header("ratelimit-policy", "The rate"),
      ];
    case 409:
    case 503:
      return [retry];
    case 422:
      return codes.includes("idempotency_key_reused") ? [retry] : [];
    default:
      return [];
  }
}

const REPLAYED = header(
  "idempotency-replayed",
  "`true` when an earlier answer is given again",
);

type SchemeName = keyof typeof SECURITY_SCHEMES;

function describeSecurity(
  access: Access,
): readonly Readonly<Record<string, readonly string[]>>[] {
  const needs = (
    name: SchemeName,
    scopes: readonly string[] = [],
  ): Readonly<Record<string, readonly string[]>> => ({ [name]: scopes });
  switch (access.kind) {
    case "public":
    case "session":
      return [];
    case "caller":
      return [needs("apiKey"), needs("userToken")];
    case "member":
      return [
        needs("apiKey", [access.scope]),
        needs("userToken", [access.scope]),
      ];
    case "worker":
      return [
        needs("workerToken"),
        needs("workerPair"),
        needs("apiKey", ["leases:write"]),
        needs("userToken", ["leases:write"]),
      ];
    case "lease":
      return [needs("leaseToken")];
    case "operator":
      return [needs("operatorToken")];
  }
}

/**
 * Tells whether the role that a route names has the scope that the route needs.
 * Otherwise the document would promise too much.
 */
export function isRoleEnough(access: Access): boolean {
  return access.kind !== "member" ||
    scopesOfRole(access.role).has(access.scope);
}

/**
 * All kinds of problems that a route may answer with, in the order of the
 * catalogue.
 */
function listProblems(route: AnyRoute): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>([
    ...route.problems,
    "bad_host",
    "invalid",
    "rate_limited",
    "internal",
    "overloaded",
    "store_unavailable",
  ]);
  for (const code of implied(route)) codes.add(code);
  return PROBLEM_CODES.filter((code) => codes.has(code));
}

function* implied(route: AnyRoute): Generator<ProblemCode> {
  if (route.path.includes("/:")) yield "not_found";
  if (route.hosts === "tenant") {
    yield "tenant_not_found";
    yield "tenant_suspended";
  }
  if (route.access.kind !== "public") {
    yield "missing_credentials";
    yield "invalid_credentials";
    yield "token_expired";
    yield "forbidden";
  }
  if (route.body !== undefined) {
    yield "malformed_json";
    yield "request_timeout";
    yield "too_large";
    yield "unsupported_media_type";
  }
  if (route.isIdempotent === true) {
    yield "bad_header";
    yield "idempotency_in_progress";
    yield "idempotency_key_reused";
  }
  if (route.conditions !== undefined) {
    yield "bad_header";
    yield "precondition_failed";
  }
}

/** The JSON Schema of merge patches of what a shape describes. */
export function mergePatchSchema({ json, definitions }: Shape): JsonSchema {
  return toPatch(json, definitions());
}

function toPatch(json: JsonSchema, definitions: Definitions): JsonSchema {
  const { $ref, ...rest } = json;
  if ($ref !== undefined) {
    const found = definitions.get($ref.slice(DEFINITIONS_POINTER.length));
    if (found === undefined || !hasMembers(found)) return json;
    return toPatch({ ...found, ...rest }, definitions);
  }
  const { anyOf, properties, additionalProperties, required: _, ...others } =
    json;
  const member = (schema: JsonSchema): JsonSchema =>
    nullable(toPatch(schema, definitions));
  const patch: { -readonly [Name in keyof JsonSchema]: JsonSchema[Name] } =
    others;
  if (anyOf !== undefined) {
    patch.anyOf = anyOf.map((one) => toPatch(one, definitions));
  }
  if (properties !== undefined) {
    patch.properties = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, member(one)]),
    );
  }
  if (additionalProperties !== undefined) {
    patch.additionalProperties = typeof additionalProperties === "object"
      ? member(additionalProperties)
      : additionalProperties;
  }
  return patch;
}

/**
 * Whether a patch changes a part of the value. One that may be a text or a
 * number, such as a duration, is replaced as a whole.
 */
function hasMembers(
  { properties, additionalProperties, anyOf }: JsonSchema,
): boolean {
  return properties !== undefined || typeof additionalProperties === "object" ||
    anyOf?.every((one) => one.type === "null" || hasMembers(one)) === true;
}

/** The schema, with null allowed as well. */
function nullable(json: JsonSchema): JsonSchema {
  const { type, anyOf } = json;
  const types = typeof type === "string" ? [type] : type;
  const isNullable = types?.includes("null") === true ||
    anyOf?.some((one) => one.type === "null") === true ||
    Object.keys(json).every((name) => name === "description");
  if (isNullable) return json;
  const { description, ...rest } = json;
  const either = { anyOf: [rest, { type: "null" as const }] };
  return description === undefined ? either : { description, ...either };
}
