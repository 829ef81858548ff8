/**
 * Checks, for tests, that the answers of a service match its OpenAPI document.
 *
 * @module
 */

import type { HttpResponse } from "../../http/exchange.ts";
import type { JsonSchema } from "../../schema/schema.ts";
import { misfits } from "../../schema/testing/json_schema_check.ts";
import {
  type OpenApiDocument,
  type OpenApiResponse,
  resolved,
} from "../document.ts";

const documents = new Map<string, OpenApiDocument>();

/**
 * Returns the document of routes and makes it only once: making one, and the
 * validators of its schemas, takes longer than most tests.
 *
 * @param facts All that the document is made from, such as the routes; their
 * functions don't count.
 */
export function documentOnce(
  facts: unknown,
  make: () => OpenApiDocument,
): OpenApiDocument {
  const key = JSON.stringify(facts);
  let document = documents.get(key);
  if (document === undefined) {
    document = make();
    documents.set(key, document);
  }
  return document;
}

/** The operations of a document: methods with paths, in order. */
export function documentedRoutes(
  { paths }: OpenApiDocument,
): readonly string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`)
  ).toSorted();
}

/** What of an answer an operation, such as `GET /health`, does not promise. */
export function undocumented(
  document: OpenApiDocument,
  { route, response }: {
    /** The method and the path, as the document has them. */
    readonly route: string;
    /** The answer. */
    readonly response: HttpResponse;
  },
): readonly string[] {
  const [method = "", path = ""] = route.split(" ");
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) return [`there is no ${route}`];
  const promised = operation.responses[String(response.status)];
  if (promised === undefined) return [`has the status ${response.status}`];
  const { content = {}, headers = {} } = resolved<OpenApiResponse>(
    document,
    promised,
  );
  const found = Object.keys(headers).filter((name) =>
    response.headers[name] === undefined
  ).map((name) => `lacks ${name}`);
  const type = String(response.headers["content-type"] ?? "").split(";")[0];
  const media = content[type ?? ""];
  if (media === undefined) {
    // Errors may come without a word, such as those of who is not let in.
    const isEmpty = (response.body?.length ?? 0) === 0;
    return isEmpty &&
        (response.status >= 400 || Object.keys(content).length === 0)
      ? found
      : [...found, `has the type "${type}"`];
  }
  if (media.schema === undefined) return found;
  const { body } = response;
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const isJson = /[/+]json$/.test(type ?? "");
  return [
    ...found,
    ...misfits(isJson ? JSON.parse(text) : text, {
      json: media.schema,
      definitions: () =>
        new Map<string, JsonSchema>(
          Object.entries(document.components.schemas),
        ),
    }),
  ];
}
