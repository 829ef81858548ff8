/**
 * Types of an OpenAPI 3.1 document, as far as the services use them, and the
 * resolution of references within it.
 *
 * @module
 */

import type { JsonSchema, JsonValue } from "../schema/schema.ts";

/** A document (OpenAPI 3.1, 4.8.1). */
export interface OpenApiDocument {
  /** The version of OpenAPI. */
  readonly openapi: "3.1.0";
  /** What the API is. */
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description?: string | undefined;
  };
  /** Where the API is, unless an operation says otherwise. */
  readonly servers: readonly OpenApiServer[];
  /** The groups of operations. */
  readonly tags: readonly OpenApiTag[];
  /** The paths, with `{name}` for parameters. */
  readonly paths: Readonly<Record<string, OpenApiPathItem>>;
  /** What several operations share. */
  readonly components: OpenApiComponents;
}

/** A group of operations (4.8.22). */
interface OpenApiTag {
  /** Its name. */
  readonly name: string;
  /** What its operations are about. */
  readonly description?: string | undefined;
}

/** Where operations are (4.8.5). */
export interface OpenApiServer {
  /** The address, with `{name}` for variables. */
  readonly url: string;
  /** What is there. */
  readonly description?: string | undefined;
  /** The variables. */
  readonly variables?:
    | Readonly<
      Record<
        string,
        { readonly default: string; readonly description?: string }
      >
    >
    | undefined;
}

/** The operations of a path, by method in lower case (4.8.9). */
type OpenApiPathItem = Readonly<Record<string, OpenApiOperation>>;

/** A reference to a component (4.8.23). */
export interface OpenApiReference {
  /** Where it is, as a pointer within the document. */
  readonly $ref: string;
}

/** An operation (4.8.10). */
export interface OpenApiOperation {
  /** Its name. */
  readonly operationId: string;
  /** What it does, in a line. */
  readonly summary: string;
  /** What else is worth knowing. */
  readonly description?: string | undefined;
  /** Its groups. */
  readonly tags: readonly string[];
  /** Where it is, if not where the others are. */
  readonly servers?: readonly OpenApiServer[] | undefined;
  /** What it takes beside a body. */
  readonly parameters?:
    | readonly (OpenApiParameter | OpenApiReference)[]
    | undefined;
  /** The body it takes. */
  readonly requestBody?:
    | {
      readonly required: boolean;
      readonly content: Readonly<Record<string, OpenApiMedia>>;
    }
    | undefined;
  /** Its answers, by status. */
  readonly responses: Readonly<
    Record<string, OpenApiResponse | OpenApiReference>
  >;
  /** The credentials that a caller needs; one of these is enough. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

/** A parameter (4.8.12). */
export interface OpenApiParameter {
  /** Its name. */
  readonly name: string;
  /** Where it stands. */
  readonly in: "path" | "query" | "header";
  /** Whether it has to be there. */
  readonly required: boolean;
  /** What it is for. */
  readonly description?: string | undefined;
  /** How lists and objects are written. */
  readonly style?: "form" | undefined;
  /** Whether each item or member is a parameter of its own. */
  readonly explode?: boolean | undefined;
  /** What it looks like. */
  readonly schema: JsonSchema;
}

/** A body of one media type (4.8.14). */
export interface OpenApiMedia {
  /** What it looks like. */
  readonly schema?: JsonSchema | undefined;
  /** A valid example. */
  readonly example?: JsonValue | undefined;
  /** Several valid examples. */
  readonly examples?: Readonly<Record<string, OpenApiReference>>;
}

/** An answer (4.8.17). */
export interface OpenApiResponse {
  /** What it means. */
  readonly description: string;
  /** Its headers. */
  readonly headers?: Readonly<Record<string, OpenApiHeader>> | undefined;
  /** Its body, by type. */
  readonly content?: Readonly<Record<string, OpenApiMedia>> | undefined;
}

/** A header of an answer (4.8.21). */
export interface OpenApiHeader {
  /** What it tells. */
  readonly description: string;
  /** What it looks like. */
  readonly schema: JsonSchema;
}

/** What several operations share (4.8.7). */
export interface OpenApiComponents {
  /** Schemas by name. */
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** Headers that requests may have. */
  readonly parameters?: Readonly<Record<string, OpenApiParameter>> | undefined;
  /** Answers. */
  readonly responses?: Readonly<Record<string, OpenApiResponse>> | undefined;
  /** Examples of problems. */
  readonly examples?: Readonly<Record<string, OpenApiExample>> | undefined;
  /** Ways to authenticate callers, by name. */
  readonly securitySchemes: Readonly<Record<string, OpenApiSecurityScheme>>;
}

/** An example with a name (4.8.19). */
export interface OpenApiExample {
  /** What it shows, in a line. */
  readonly summary: string;
  /** What else is worth knowing. */
  readonly description?: string | undefined;
  /** The value. */
  readonly value: JsonValue;
}

/** A way to authenticate callers (4.8.27). */
export type OpenApiSecurityScheme =
  | {
    /** By the Authorization header. */
    readonly type: "http";
    /** The scheme of the header. */
    readonly scheme: "bearer" | "basic";
    /** What a bearer token is. */
    readonly bearerFormat?: string;
    /** Where one gets it. */
    readonly description: string;
  }
  | {
    /** By a header of its own. */
    readonly type: "apiKey";
    /** Where it stands. */
    readonly in: "header";
    /** The name of the header. */
    readonly name: string;
    /** What it holds. */
    readonly description: string;
  };

/**
 * The value itself, or what it refers to.
 *
 * @throws {TypeError} when it refers to what is not there
 */
export function resolved<T extends object>(
  document: OpenApiDocument,
  value: T | OpenApiReference,
): T {
  if (!isReference(value)) return value;
  let found: unknown = document;
  for (const name of value.$ref.replace(/^#\//, "").split("/")) {
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[name];
  }
  if (found === undefined) {
    throw new TypeError(`Cannot find ${value.$ref}: it is not in the document`);
  }
  return found as T;
}

function isReference(value: object): value is OpenApiReference {
  return "$ref" in value && typeof value.$ref === "string";
}
