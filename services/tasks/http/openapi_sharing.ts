/**
 * Makes the document shorter: what several operations have alike is written once
 * and referred to.
 *
 * @module
 */

import type {
  OpenApiDocument,
  OpenApiOperation,
  OpenApiReference,
  OpenApiResponse,
} from "../../shared/openapi/document.ts";
import {
  DEFINITIONS_POINTER,
  type JsonSchema,
} from "../../shared/schema/schema.ts";

type Response = OpenApiResponse | OpenApiReference;

/**
 * The same document with the answers that occur more than once, and the schemas
 * of bodies that are taken as several types, among the components.
 *
 * @throws {TypeError} when a schema has the name already that a body's gets
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

/** The answers that occur more than once, by status and a number. */
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
