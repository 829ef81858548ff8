/**
 * The parts of an OpenAPI 3.1 document that are written here.
 *
 * @module
 */

import type {
  JsonObject,
  JsonSchema,
  JsonValue,
} from "../../shared/schema/schema.ts";
import {
  PROBLEM_CODES,
  type ProblemCode,
  problemKind,
} from "./problem_catalog.ts";

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
  readonly tags: readonly { readonly name: string }[];
  /** The paths, with `{name}` for parameters. */
  readonly paths: Readonly<Record<string, OpenApiPathItem>>;
  /** What several operations share. */
  readonly components: OpenApiComponents;
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
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
  /** What a caller needs, one of these. */
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

/** A body of a type (4.8.14). */
export interface OpenApiMedia {
  /** What it looks like. */
  readonly schema?: JsonSchema | undefined;
  /** A good one. */
  readonly example?: JsonValue | undefined;
  /** Several good ones. */
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
interface OpenApiComponents {
  /** Schemas by name. */
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** Headers that requests may have. */
  readonly parameters: Readonly<Record<string, OpenApiParameter>>;
  /** Examples of problems. */
  readonly examples: Readonly<
    Record<string, { readonly summary: string; readonly value: JsonValue }>
  >;
  /** Ways to tell who calls. */
  readonly securitySchemes: Readonly<Record<string, OpenApiSecurityScheme>>;
}

/** A way to tell who calls (4.8.27). */
interface OpenApiSecurityScheme {
  /** By the Authorization header. */
  readonly type: "http";
  /** The scheme of the header. */
  readonly scheme: "bearer" | "basic";
  /** What a bearer token is. */
  readonly bearerFormat?: string;
  /** Where one gets it. */
  readonly description: string;
}

/** Headers of requests, by the name of the component. */
export const HEADER_PARAMETERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "Makes the request take effect once however often it is " +
      "sent; kept for 24 hours",
    schema: { type: "string", maxLength: 512 },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    required: false,
    description: "Changes it only if it has one of these entity tags still",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "Answers 304 if it has one of these entity tags still",
    schema: { type: "string" },
  },
  Prefer: {
    name: "Prefer",
    in: "header",
    required: false,
    description: "With `return=minimal` the answer names what was made " +
      "instead of showing it (RFC 7240)",
    schema: { type: "string" },
  },
} as const satisfies Readonly<Record<string, OpenApiParameter>>;

/** Ways to tell who calls, by name. */
export const SECURITY_SCHEMES = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    description: "An API key of the tenant: dk_…",
  },
  userToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A user's token of the identity provider",
  },
  workerToken: {
    type: "http",
    scheme: "bearer",
    description: "A credential of the worker as one token: wk_…",
  },
  workerPair: {
    type: "http",
    scheme: "basic",
    description: "A credential of the worker: its key and its secret",
  },
  leaseToken: {
    type: "http",
    scheme: "bearer",
    description: "The token that came with the lease",
  },
  operatorToken: {
    type: "http",
    scheme: "bearer",
    description: "The token of who runs the service",
  },
} as const satisfies Readonly<Record<string, OpenApiSecurityScheme>>;

/** The components beside the schemas of the routes. */
export function sharedComponents(
  host: string,
): Omit<OpenApiComponents, "schemas"> {
  return {
    parameters: HEADER_PARAMETERS,
    examples: Object.fromEntries(PROBLEM_CODES.map((code) => [code, {
      summary: problemKind(code).title,
      value: problemExample(code, host),
    }])),
    securitySchemes: SECURITY_SCHEMES,
  };
}

/** The reference to the example of a kind of problem. */
export function problemExampleReference(code: ProblemCode): OpenApiReference {
  return { $ref: `#/components/examples/${code}` };
}

function problemExample(code: ProblemCode, host: string): JsonValue {
  const { status, title, example } = problemKind(code);
  const requestId = "req_0b9f7a52c1de4f0f8f4be1a7d6f0a3c2";
  const standard: JsonObject = {
    type: `https://${host}/problems/${code}`,
    title,
    status,
    detail: example.detail,
    instance: `/requests/${requestId}`,
    code,
    request_id: requestId,
  };
  return { ...example.extensions, ...standard };
}
