/**
 * Makes the OpenAPI 3.1 document of the API from the route table that requests
 * are checked by. Parts that several operations share are written once and
 * referred to.
 *
 * @module
 */

import type {
  OpenApiDocument,
  OpenApiOperation,
  OpenApiReference,
  OpenApiResponse,
  OpenApiServer,
} from "../../shared/openapi/document.ts";
import {
  DEFINITIONS_POINTER,
  type JsonSchema,
  mergeDefinitions,
  named,
  type Shape,
} from "../../shared/schema/schema.ts";
import { sharedComponents } from "./openapi_document.ts";
import { PROBLEM_SHAPE } from "./problem_answer.ts";
import {
  describeOperation,
  isRoleEnough,
  pathTemplate,
} from "./openapi_operation.ts";
import { BASE_PATHS } from "./locate.ts";
import type { AnyRoute } from "./route.ts";

/** What the document says beside the routes. */
interface OpenApiOptions {
  /** The name of the API. */
  readonly title: string;
  /** The version of the API. */
  readonly version: string;
  /**
   * What the API is for, in CommonMark.
   * @default nothing is said
   */
  readonly description?: string;
  /** The host name of the service, with its port unless it is the usual one. */
  readonly host: string;
  /**
   * The scheme of the API's URLs.
   * @default {"https"}
   */
  readonly scheme?: "https" | "http";
}

/**
 * Makes the document of a route table.
 *
 * @throws {TypeError} when two routes have the same operation id or, as far as
 * the document can tell, the same method and path; when two schemas have the
 * same name; when a route's role does not have the scope it needs
 */
export function buildOpenApi(
  routes: readonly AnyRoute[],
  options: OpenApiOptions,
): OpenApiDocument {
  const { title, version, description, host, scheme = "https" } = options;
  const documented = routes.filter((route) => route.isUndocumented !== true);
  checkOperationIds(documented);
  const shapes = [
    named("Problem", PROBLEM_SHAPE),
    ...documented.flatMap(listShapes),
  ];
  const schemas = [...mergeDefinitions(shapes)].sort(([left], [right]) =>
    left < right ? -1 : 1
  );
  const document: OpenApiDocument = {
    openapi: "3.1.0",
    info: {
      title,
      version,
      description,
    },
    servers: [describeServer({ hosts: "tenant" }, options)],
    tags: [...new Set(documented.flatMap((route) => route.tags))].map((
      name,
    ) => ({ name })),
    paths: buildPaths(documented, options),
    components: {
      schemas: Object.fromEntries(schemas),
      ...sharedComponents(`${scheme}://${host}`),
    },
  };
  // JSON leaves out members that are undefined.
  return JSON.parse(JSON.stringify(shareParts(document)));
}

function checkOperationIds(routes: readonly AnyRoute[]): void {
  const seen = new Set<string>();
  for (const { operationId, access } of routes) {
    if (seen.has(operationId)) {
      throw new TypeError(
        `Cannot describe routes: two have the operation id "${operationId}"`,
      );
    }
    seen.add(operationId);
    if (!isRoleEnough(access)) {
      throw new TypeError(
        `Cannot describe route "${operationId}": its role does not have its scope`,
      );
    }
  }
}

function listShapes(route: AnyRoute): readonly Shape[] {
  const { query, body, params = {}, answers } = route;
  return [
    { json: {}, definitions: query.definitions },
    ...body === undefined ? [] : [body.shape],
    ...Object.values(params),
    ...Object.values(answers).flatMap(({ shape }) =>
      shape === undefined ? [] : [shape]
    ),
  ];
}

function buildPaths(
  routes: readonly AnyRoute[],
  options: OpenApiOptions,
): OpenApiDocument["paths"] {
  const paths = new Map<string, Map<string, OpenApiOperation>>();
  for (const route of routes) {
    const path = pathTemplate(route.path);
    const operations = paths.get(path) ?? new Map<string, OpenApiOperation>();
    paths.set(path, operations);
    const method = route.method.toLowerCase();
    if (operations.has(method)) {
      throw new TypeError(
        `Cannot describe routes: two are ${route.method} ${path}`,
      );
    }
    operations.set(method, {
      ...describeOperation(route),
      servers: isUsual(route) ? undefined : [describeServer(route, options)],
    });
  }
  return Object.fromEntries(
    [...paths].map(([path, operations]) => [
      path,
      Object.fromEntries(operations),
    ]),
  );
}

type Located = Pick<AnyRoute, "hosts" | "isOutsideBase">;

/** Whether a route is below the server URL that the document names. */
function isUsual({ hosts, isOutsideBase = false }: Located): boolean {
  return hosts === "tenant" && !isOutsideBase;
}

function describeServer(
  { hosts, isOutsideBase = false }: Located,
  { host, scheme = "https" }: OpenApiOptions,
): OpenApiServer {
  const base = hosts === "any" || isOutsideBase ? "" : BASE_PATHS[hosts] ?? "";
  switch (hosts) {
    case "tenant":
      return {
        url: `${scheme}://{tenant}.${host}${base}`,
        variables: {
          tenant: { default: "acme", description: "The domain of the tenant" },
        },
      };
    case "accounts":
      return { url: `${scheme}://accounts.${host}${base}` };
    case "accounts_admin":
      return { url: `${scheme}://accounts.admin.${host}${base}` };
    default:
      return { url: `${scheme}://${host}${base}` };
  }
}

type Response = OpenApiResponse | OpenApiReference;

/**
 * Moves the answers that occur more than once, and the schemas of bodies with
 * several media types, to the components.
 *
 * @throws {TypeError} when a component already has the name that a body's
 * schema gets
 */
export function shareParts(document: OpenApiDocument): OpenApiDocument {
  const responses = new SharedResponses(document);
  const schemas: Record<string, JsonSchema> = {
    ...document.components.schemas,
  };
  const paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).map(([method, operation]) => [method, {
          ...operation,
          requestBody: sharedBody(operation, schemas),
          responses: Object.fromEntries(
            Object.entries(operation.responses).map(([status, response]) => [
              status,
              responses.referring(status, response),
            ]),
          ),
        }]),
      ),
    ]),
  );
  return {
    ...document,
    paths,
    components: {
      ...document.components,
      schemas,
      responses: { ...document.components.responses, ...responses.byName },
    },
  };
}

/**
 * The answers that occur more than once, named by their status and a number.
 */
class SharedResponses {
  readonly byName: Record<string, OpenApiResponse> = {};
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor({ paths }: OpenApiDocument) {
    for (const item of Object.values(paths)) {
      for (const { responses } of Object.values(item)) {
        for (const response of Object.values(responses)) {
          const text = JSON.stringify(response);
          this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
        }
      }
    }
  }

  referring(status: string, response: Response): Response {
    const text = JSON.stringify(response);
    const isShared = (this.#counts.get(text) ?? 0) > 1;
    if (!isShared || "$ref" in response) return response;
    let name = this.#names.get(text);
    if (name === undefined) {
      const alike = Object.keys(this.byName).filter((one) =>
        one.startsWith(`Answer${status}_`)
      );
      name = `Answer${status}_${alike.length + 1}`;
      this.#names.set(text, name);
      this.byName[name] = response;
    }
    return { $ref: `#/components/responses/${name}` };
  }
}

function sharedBody(
  { operationId, requestBody }: OpenApiOperation,
  schemas: Record<string, JsonSchema>,
): OpenApiOperation["requestBody"] {
  if (requestBody === undefined) return undefined;
  const media = Object.entries(requestBody.content);
  const schema = media[0]?.[1].schema;
  const isAlike = schema !== undefined && media.length > 1 &&
    media.every(([, one]) =>
      JSON.stringify(one.schema) === JSON.stringify(schema)
    );
  if (!isAlike || schema.$ref !== undefined) return requestBody;
  const name = operationId.slice(0, 1).toUpperCase() + operationId.slice(1);
  if (schemas[name] !== undefined) {
    throw new TypeError(
      `Cannot name the body of "${operationId}": there is a schema ${name}`,
    );
  }
  schemas[name] = schema;
  const reference = { $ref: `${DEFINITIONS_POINTER}${name}` };
  return {
    ...requestBody,
    content: Object.fromEntries(
      media.map(([type, one]) => [type, { ...one, schema: reference }]),
    ),
  };
}
