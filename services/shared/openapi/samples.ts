/**
 * Makes examples for the page of an API: curl commands, and values as text, in
 * which a list of numbers takes one line and a long one is shortened.
 *
 * @module
 */

import type { JsonSchema, JsonValue } from "../schema/schema.ts";
import type {
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiServer,
} from "./document.ts";

/** Stands for the address of the service where the document does not say it. */
export const ADDRESS = "$URL";

/** The call for which a curl command is made. */
export interface CurlCall {
  /** The method, in upper case. */
  readonly method: string;
  /** The path, with `{name}` for parameters. */
  readonly path: string;
  /** The operation. */
  readonly operation: OpenApiOperation;
  /** Its parameters. */
  readonly parameters: readonly OpenApiParameter[];
}

/**
 * The address of a server, its variables replaced; with `$URL` when relative.
 */
export function serverAddress({ url, variables = {} }: OpenApiServer): string {
  const filled = url.replaceAll(
    /\{([^}]*)\}/g,
    (_, name: string) => variables[name]?.default ?? name,
  );
  const isWhole = /^https?:/.test(filled);
  return (isWhole ? filled : ADDRESS + filled).replace(/\/$/, "");
}

/** The command for a POSIX shell. */
export function formatCurl(document: OpenApiDocument, call: CurlCall): string {
  const { method, path, operation, parameters } = call;
  const server = (operation.servers ?? document.servers)[0] ?? { url: "/" };
  const query = parameters.filter(({ in: place, required }) =>
    place === "query" && required
  ).map((one) => `${one.name}=${encodeURIComponent(formatSample(one))}`);
  const address = serverAddress(server) + filledPath(path, parameters) +
    (query.length === 0 ? "" : `?${query.join("&")}`);
  const parts = [
    `curl ${method === "GET" ? "" : `-X ${method} `}"${address}"`,
    ...formatCredentials(document, operation),
    ...parameters.filter(({ in: place, required }) =>
      place === "header" && required
    ).map((one) => `-H ${quoted(`${one.name}: ${formatSample(one)}`)}`),
    ...formatBody(operation),
  ];
  return parts.join(" \\\n  ");
}

function filledPath(
  path: string,
  parameters: readonly OpenApiParameter[],
): string {
  return path.replaceAll(/\{([^}]*)\}/g, (whole, name: string) => {
    const found = parameters.find((one) =>
      one.in === "path" && one.name === name
    );
    const example = found?.schema.examples?.[0];
    return example === undefined ? whole : encodeURIComponent(String(example));
  });
}

function formatSample({ name, schema }: OpenApiParameter): string {
  const value = exampleIn(schema);
  return value === undefined
    ? `<${name}>`
    : typeof value === "string"
    ? value
    : JSON.stringify(value);
}

function exampleIn(schema: JsonSchema): JsonValue | undefined {
  return schema.examples?.[0] ?? schema.default ?? schema.const ??
    schema.enum?.[0];
}

function formatCredentials(
  document: OpenApiDocument,
  { security }: OpenApiOperation,
): readonly string[] {
  const names = Object.keys(security[0] ?? {});
  return names.flatMap((name) => {
    const scheme = document.components.securitySchemes[name];
    if (scheme === undefined) return [];
    if (scheme.type === "apiKey") return [`-H "${scheme.name}: …"`];
    return scheme.scheme === "bearer"
      ? ['-H "authorization: Bearer $TOKEN"']
      : ['-u "$KEY:$SECRET"'];
  });
}

function formatBody({ requestBody }: OpenApiOperation): readonly string[] {
  const [first] = Object.entries(requestBody?.content ?? {});
  if (first === undefined) return [];
  const [type, { example }] = first;
  if (example === undefined) return [];
  const text = typeof example === "string" ? example : sampleText(example);
  return [`-H "content-type: ${type}"`, `-d ${quoted(text)}`];
}

/** One word for the shell, whatever it holds. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Most numbers of a list that are all shown. */
const MAX_NUMBERS = 12;

/** How many numbers of a longer list are shown. */
const SHOWN_NUMBERS = 3;

/**
 * Marks a list that is text already. A private-use character, which no example
 * contains.
 */
const MARK = "\ue000";

/** Writes a value as JSON, or nearly so where a list is long. */
export function sampleText(
  value: JsonValue,
  { indent = 0 }: {
    /**
     * Spaces for each level.
     * @default {0} all in one line
     */
    readonly indent?: number;
  } = {},
): string {
  const text = JSON.stringify(
    value,
    (_name, inner: unknown) =>
      isNumbers(inner) ? MARK + numbersText(inner) : inner,
    indent,
  );
  return text.replaceAll(new RegExp(`"${MARK}([^"]*)"`, "g"), "$1");
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 &&
    value.every((item) => typeof item === "number");
}

function numbersText(numbers: readonly number[]): string {
  const shown = numbers.length > MAX_NUMBERS
    ? [...numbers.slice(0, SHOWN_NUMBERS), "…"]
    : numbers;
  return `[${shown.join(", ")}]`;
}
