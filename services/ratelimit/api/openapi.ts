/**
 * The OpenAPI document of the service's HTTP API. Bodies are the messages of
 * `proto` in proto3's JSON mapping.
 *
 * @module
 */

import { CODE, UNIT } from "../../../proto/rate_limit_response.ts";
import type {
  OpenApiDocument,
  OpenApiResponse,
} from "../../shared/openapi/document.ts";
import type { JsonSchema, JsonValue } from "../../shared/schema/schema.ts";

const UINT32_MAX = 4_294_967_295;

/**
 * Returns the schema of a whole number, in the forms that proto3's JSON takes.
 */
function count(description: string, maximum?: number): JsonSchema {
  const bound = maximum === undefined ? {} : { maximum };
  return {
    anyOf: [
      { type: "integer", minimum: 0, ...bound },
      { type: "string", pattern: "^[0-9]+$" },
      { type: "null" },
    ],
    description,
  };
}

/** Returns the schema of a member that is a number of 32 or 64 bits. */
function counted(bits: 32 | 64, description: string): JsonSchema {
  return { $ref: `#/components/schemas/Uint${bits}`, description };
}

const UNITS = Object.keys(UNIT);
const CODES = Object.keys(CODE);

const HEADER: JsonSchema = {
  type: "object",
  properties: {
    key: { type: "string", description: "The header's name" },
    value: { type: "string", description: "The text behind its colon" },
  },
  additionalProperties: false,
};

const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  RateLimitRequest: {
    type: "object",
    description:
      "What to count. Fields may be written in snake_case too, and " +
      "`null` is an absent one; an unknown field is refused",
    required: ["domain", "descriptors"],
    properties: {
      domain: {
        type: "string",
        minLength: 1,
        description: "Which rules apply",
      },
      descriptors: {
        type: "array",
        items: { $ref: "#/components/schemas/RateLimitDescriptor" },
        minItems: 1,
        description: "What to count; each is judged on its own",
      },
      hitsAddend: counted(
        32,
        "Hits that the request adds; 0 counts as 1",
      ),
      hits_addend: counted(32, "The same"),
    },
    additionalProperties: false,
  },
  RateLimitDescriptor: {
    type: "object",
    description: "What a rule is looked up by, and counted for",
    properties: {
      entries: {
        type: "array",
        items: {
          type: "object",
          properties: {
            key: { type: "string", description: "What rules match by name" },
            value: {
              type: "string",
              description:
                "What rules may match; one without a value counts each apart",
            },
          },
          additionalProperties: false,
        },
        description: "Keys with values, in the order of the rules",
      },
      limit: {
        description: "A limit of its own, instead of the rule's",
        type: ["object", "null"],
        properties: {
          requestsPerUnit: counted(32, "How many there may be in one window"),
          requests_per_unit: counted(32, "The same"),
          unit: {
            anyOf: [{ enum: UNITS }, { type: "integer" }],
            description: "The length of the window",
          },
        },
        additionalProperties: false,
      },
      hitsAddend: counted(
        64,
        "Hits that this descriptor adds; 0 looks without counting",
      ),
      hits_addend: counted(64, "The same"),
      isNegativeHits: {
        type: ["boolean", "null"],
        description: "Gives hits back; a count never falls below 0",
      },
      is_negative_hits: { type: ["boolean", "null"], description: "The same" },
    },
    additionalProperties: false,
  },
  Uint32: count("A number; it may be written as text", UINT32_MAX),
  Uint64: count("A number of 64 bits; it may be written as text"),
  RateLimitResponse: {
    type: "object",
    description:
      "What was decided. A field that has its default, such as the " +
      "number 0, is left out",
    properties: {
      overallCode: {
        enum: CODES,
        description: "`OVER_LIMIT` when any descriptor is over its limit",
      },
      statuses: {
        type: "array",
        items: { $ref: "#/components/schemas/DescriptorStatus" },
        description: "One for each descriptor, in order",
      },
      responseHeadersToAdd: {
        type: "array",
        items: HEADER,
        description: "Headers for the answer to the client, where " +
          "`LIMIT_RESPONSE_HEADERS_ENABLED` asks for them",
      },
      dynamicMetadata: {
        type: "object",
        description: "What a proxy may log, where " +
          "`RESPONSE_DYNAMIC_METADATA` asks for it",
      },
    },
    additionalProperties: false,
  },
  DescriptorStatus: {
    type: "object",
    description: "What was decided of one descriptor",
    properties: {
      code: { enum: CODES, description: "The decision" },
      currentLimit: {
        type: "object",
        description: "The limit that applied; absent when none did",
        properties: {
          requestsPerUnit: {
            type: "integer",
            description: "How many there may be in one window",
          },
          unit: { enum: UNITS, description: "The length of the window" },
          name: { type: "string", description: "Of the rule, if it has one" },
        },
        additionalProperties: false,
      },
      limitRemaining: {
        type: "integer",
        description: "Requests that remain in the window",
      },
      durationUntilReset: {
        type: "string",
        pattern: "^[0-9]+(\\.[0-9]+)?s$",
        description: "Time to the end of the window",
      },
    },
    additionalProperties: false,
  },
  Problem: {
    type: "object",
    description: "What went wrong (RFC 9457)",
    required: ["title", "status"],
    properties: {
      title: { type: "string", description: "The kind of problem, for people" },
      status: { type: "integer", description: "That of the HTTP answer" },
      detail: { type: "string", description: "What went wrong this time" },
    },
    additionalProperties: false,
  },
};

function decision(
  description: string,
  { code, limitRemaining }: {
    readonly code: string;
    readonly limitRemaining?: number;
  },
): OpenApiResponse {
  const status: Record<string, JsonValue> = {
    code,
    currentLimit: { requestsPerUnit: 10, unit: "MINUTE" },
    durationUntilReset: "42s",
  };
  if (limitRemaining !== undefined) status.limitRemaining = limitRemaining;
  return {
    description,
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/RateLimitResponse" },
        example: { overallCode: code, statuses: [status] },
      },
    },
  };
}

function problem(
  description: string,
  { status, title, detail }: {
    readonly status: number;
    readonly title: string;
    readonly detail: string;
  },
): OpenApiResponse {
  return {
    description,
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        example: { title, status, detail },
      },
    },
  };
}

/** Makes the OpenAPI document for a version of the service. */
export function rateLimitDocument(version: string): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: {
      title: "Tercet ratelimit",
      version,
      description: "Decides whether requests are within their limits.\n\n" +
        "Proxies ask over gRPC, on a port of its own: " +
        "`envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`, with " +
        "the same messages; `grpc.health.v1.Health` and reflection are there " +
        "too. This page is about the HTTP port.\n\n" +
        "The debug port has pages for people: the rules in force at " +
        "`/rlconfig`, statistics at `/stats`, why a request is limited at " +
        "`/debug/explain`.",
    },
    servers: [{ url: "/" }],
    tags: [{ name: "decisions" }, { name: "service" }],
    paths: {
      "/json": {
        post: {
          operationId: "shouldRateLimit",
          summary: "Decide whether a request is within its limits",
          description:
            "Counts the request's hits for each descriptor. Of any " +
            "`content-type`.",
          tags: ["decisions"],
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: { $ref: "#/components/schemas/RateLimitRequest" },
                example: {
                  domain: "edge",
                  descriptors: [{
                    entries: [{ key: "remote_address", value: "192.0.2.7" }],
                  }],
                },
              },
            },
          },
          responses: {
            200: decision("Within all limits", {
              code: "OK",
              limitRemaining: 9,
            }),
            400: problem(
              "No request, or one without a domain, descriptors or a unit",
              {
                status: 400,
                title: "Bad Request",
                detail: "Cannot decide: the domain must not be empty",
              },
            ),
            408: problem("The body did not arrive in time", {
              status: 408,
              title: "Request Timeout",
              detail: "Cannot accept request: its body did not arrive in time",
            }),
            413: problem("More than `MAX_DESCRIPTORS` or `MAX_REQUEST_BYTES`", {
              status: 413,
              title: "Content Too Large",
              detail: "Cannot accept request: its body is larger than " +
                "4194304 bytes",
            }),
            429: decision("Over a limit", { code: "OVER_LIMIT" }),
            503: problem(
              "No rules are loaded yet, the counter store does not answer, " +
                "or too many bodies arrive at once",
              {
                status: 503,
                title: "Service Unavailable",
                detail: "Cannot decide: no rate limit configuration loaded",
              },
            ),
          },
          security: [],
        },
      },
      "/healthcheck": {
        get: {
          operationId: "getHealth",
          summary: "Tell whether the service can decide",
          description: "Other methods are answered alike.",
          tags: ["service"],
          responses: {
            200: {
              description: "It can",
              content: {
                "text/plain": { schema: { const: "OK" }, example: "OK" },
              },
            },
            503: problem("It cannot; the detail says why", {
              status: 503,
              title: "Service Unavailable",
              detail: "the counter store does not answer",
            }),
          },
          security: [],
        },
      },
    },
    components: { schemas: SCHEMAS, securitySchemes: {} },
  };
}
