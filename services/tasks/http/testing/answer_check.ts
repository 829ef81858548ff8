/**
 * Tells whether an answer matches the API's document, for tests.
 *
 * @module
 */

import type { JsonSchema } from "../../../shared/schema/schema.ts";
import { misfits } from "../../../shared/schema/testing/json_schema_check.ts";
import type { RenderedAnswer } from "../answer.ts";
import {
  type OpenApiDocument,
  type OpenApiOperation,
  type OpenApiResponse,
  resolved,
} from "../../../shared/openapi/document.ts";

/** An answer, and the operation that gave it. */
export interface CheckedAnswer {
  /** The operation that was called. */
  readonly operationId: string;
  /** The answer of the operation. */
  readonly answer: RenderedAnswer;
  /**
   * Whether the method was HEAD.
   * @default {false}
   */
  readonly isHead?: boolean;
}

/** Documented headers that an answer may have or lack. */
const SOMETIMES = [
  "accept",
  "idempotency-replayed",
  "link",
  "preference-applied",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "www-authenticate",
];

/** Where an answer differs from the document; empty when it matches. */
export function answerFaults(
  document: OpenApiDocument,
  checked: CheckedAnswer,
): readonly string[] {
  const { operationId, answer, isHead = false } = checked;
  const operation = findOperation(document, operationId);
  if (operation === undefined) return [`there is no ${operationId}`];
  const { status, headers, body } = answer;
  const promised = operation.responses[String(status)];
  if (promised === undefined) {
    return [`${operationId} does not promise the status ${status}`];
  }
  const response = resolved<OpenApiResponse>(document, promised);
  const found: string[] = [];
  if (headers["x-request-id"] === undefined) found.push("lacks x-request-id");
  for (const name of ["location", "etag"]) {
    const isPromised = response.headers?.[name] !== undefined;
    if (isPromised !== (headers[name] !== undefined)) {
      found.push(isPromised ? `lacks ${name}` : `has ${name} unpromised`);
    }
  }
  for (const name of SOMETIMES) {
    if (headers[name] !== undefined && response.headers?.[name] === undefined) {
      found.push(`has ${name} unpromised`);
    }
  }
  if (response.content === undefined || isHead) {
    if (body !== undefined && body !== "") found.push("has a body");
    return found;
  }
  const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
  const media = response.content[type];
  if (media === undefined) return [...found, `has the type "${type}"`];
  if (media.schema === undefined) return found;
  if (body === undefined) return [...found, "has no body"];
  // Pages for people and compressed bodies are not JSON.
  const isCoded = headers["content-encoding"] !== undefined;
  if (isCoded || typeof body !== "string" || !/[/+]json$/.test(type)) {
    return found;
  }
  return [...found, ...bodyFaults(body, media.schema, document)];
}

/** Finds an operation of a document by its id. */
export function findOperation(
  document: OpenApiDocument,
  operationId: string,
): OpenApiOperation | undefined {
  return Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .find((operation) => operation.operationId === operationId);
}

function bodyFaults(
  body: string,
  schema: JsonSchema,
  document: OpenApiDocument,
): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return ["has a body that is not JSON"];
  }
  const definitions = () =>
    new Map(Object.entries(document.components.schemas));
  return misfits(value, { json: schema, definitions });
}
