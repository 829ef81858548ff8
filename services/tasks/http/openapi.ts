/**
 * The API's document (OpenAPI 3.1), made of the table that requests are
 * checked by.
 *
 * @module
 */

import type {
  OpenApiDocument,
  OpenApiOperation,
  OpenApiServer,
} from "../../shared/openapi/document.ts";
import {
  definitionsOf,
  named,
  type Shape,
} from "../../shared/schema/schema.ts";
import { sharedComponents } from "./openapi_document.ts";
import { PROBLEM_SHAPE } from "./problem_answer.ts";
import {
  isRoleEnough,
  operationOf,
  pathTemplate,
} from "./openapi_operation.ts";
import { shareParts } from "./openapi_sharing.ts";
import type { HostKind } from "./locate.ts";
import type { AnyRoute } from "./route.ts";
import { BASE_PATHS } from "./route_matcher.ts";

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
   * How clients reach it.
   * @default {"https"}
   */
  readonly scheme?: "https" | "http";
  /**
   * What stands before the paths of a host's routes.
   * @default {{tenant: "/api"}}
   */
  readonly basePaths?: Readonly<Partial<Record<HostKind, string>>>;
}

/**
 * Makes the document of a route table.
 *
 * @throws {TypeError} when two routes have the same operation id or, as far as
 * the document can tell, the same method and path; when two schemas have the
 * same name; when a route's role does not have the scope it needs
 */
export function openApiOf(
  routes: readonly AnyRoute[],
  options: OpenApiOptions,
): OpenApiDocument {
  const { title, version, description, host } = options;
  const documented = routes.filter((route) => route.isUndocumented !== true);
  checkOperationIds(documented);
  const shapes = [
    named("Problem", PROBLEM_SHAPE),
    ...documented.flatMap(shapesOf),
  ];
  const schemas = [...definitionsOf(shapes)].sort(([left], [right]) =>
    left < right ? -1 : 1
  );
  const document: OpenApiDocument = {
    openapi: "3.1.0",
    info: {
      title,
      version,
      description,
    },
    servers: [serverOf({ hosts: "tenant" }, options)],
    tags: [...new Set(documented.flatMap((route) => route.tags))].map((
      name,
    ) => ({ name })),
    paths: pathsOf(documented, options),
    components: {
      schemas: Object.fromEntries(schemas),
      ...sharedComponents(host),
    },
  };
  // In JSON what is undefined is left out.
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

function shapesOf(route: AnyRoute): readonly Shape[] {
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

function pathsOf(
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
      ...operationOf(route),
      servers: isUsual(route) ? undefined : [serverOf(route, options)],
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

/** Whether a route is where the document says that the API is. */
function isUsual({ hosts, isOutsideBase = false }: Located): boolean {
  return hosts === "tenant" && !isOutsideBase;
}

function serverOf(
  { hosts, isOutsideBase = false }: Located,
  { host, scheme = "https", basePaths = BASE_PATHS }: OpenApiOptions,
): OpenApiServer {
  const base = hosts === "any" || isOutsideBase ? "" : basePaths[hosts] ?? "";
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
