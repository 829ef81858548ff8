/**
 * The OpenAPI document of the key server.
 *
 * @module
 */

import type {
  OpenApiDocument,
  OpenApiResponse,
} from "../shared/openapi/document.ts";
import type { JsonSchema } from "../shared/schema/schema.ts";

const BASE64: JsonSchema = { type: "string", description: "Base64" };

/** An id of 32 bytes. */
const OBJECT_ID: JsonSchema = {
  type: "string",
  pattern: "^0x[0-9a-f]{64}$",
};

const SAMPLE_ID = `0x${"5e".repeat(32)}`;
const SAMPLE_POINT = "lfHTpzGX06mnT6wPjC…";

const SCHEMAS = {
  Certificate: {
    type: "object",
    description: "Names the session's key; signed by the address",
    required: ["user", "session_vk", "creation_time", "ttl_min", "signature"],
    properties: {
      user: { ...OBJECT_ID, description: "The address that asks" },
      session_vk: {
        type: "string",
        description: "The session's public key, Base64 of 32 bytes",
      },
      creation_time: {
        type: "integer",
        description:
          "When the session began, milliseconds since the Unix epoch",
      },
      ttl_min: {
        type: "integer",
        minimum: 1,
        maximum: 30,
        description: "Minutes that it lasts",
      },
      signature: {
        type: "string",
        description: "The address's signature of the session, Base64",
      },
      mvr_name: {
        type: ["string", "null"],
        description: "Refused where it is given: packages go by their id here",
      },
    },
  },
  KeyRequest: {
    type: "object",
    description: "Whose keys are asked for, and why they may be given",
    required: [
      "ptb",
      "enc_key",
      "enc_verification_key",
      "request_signature",
      "certificate",
    ],
    properties: {
      ptb: {
        type: "string",
        description: "The approving transaction without its first byte, Base64",
      },
      enc_key: {
        type: "string",
        description: "What the keys are encrypted to, Base64 of 48 bytes",
      },
      enc_verification_key: {
        type: "string",
        description: "Its other half, Base64 of 96 bytes",
      },
      request_signature: {
        type: "string",
        description:
          "The session's signature of the request, Base64 of 64 bytes",
      },
      certificate: { $ref: "#/components/schemas/Certificate" },
    },
  },
  Keys: {
    type: "object",
    description: "The keys that were asked for",
    required: ["decryption_keys"],
    properties: {
      decryption_keys: {
        type: "array",
        description: "One for each identity that the transaction names",
        items: {
          type: "object",
          required: ["id", "encrypted_key"],
          properties: {
            id: {
              type: "array",
              items: { type: "integer", minimum: 0, maximum: 255 },
              description: "The whole identity, byte by byte",
            },
            encrypted_key: {
              type: "array",
              items: BASE64,
              minItems: 2,
              maxItems: 2,
              description: "Its key, encrypted to `enc_key` (ElGamal)",
            },
          },
          additionalProperties: false,
        },
      },
    },
    additionalProperties: false,
  },
  Service: {
    type: "object",
    description: "The proof that a key server has its secret",
    required: ["service_id", "pop"],
    properties: {
      service_id: { ...OBJECT_ID, description: "The key server's object" },
      pop: {
        type: "string",
        description: "Proof that it has its secret, Base64",
      },
    },
    additionalProperties: false,
  },
  Health: {
    type: "object",
    description: "Which key server answers",
    required: ["status", "version", "service_id", "package_id"],
    properties: {
      status: { const: "ok", description: "Always so when it answers" },
      version: { type: "string", description: "Of the service" },
      service_id: { ...OBJECT_ID, description: "The key server's object" },
      package_id: {
        type: "string",
        description: "The package whose keys it gives",
      },
    },
    additionalProperties: false,
  },
  Error: {
    type: "object",
    description: "Why no keys are given",
    required: ["error", "message"],
    properties: {
      error: {
        enum: [
          "InvalidPTB",
          "NoAccess",
          "InvalidCertificate",
          "InvalidSignature",
          "InvalidSessionSignature",
          "InvalidParameter",
          "InvalidMVRName",
          "InvalidServiceId",
          "UnsupportedPackageId",
          "Failure",
        ],
        description: "The name that the public client knows",
      },
      message: { type: "string", description: "The reason, for people" },
    },
    additionalProperties: false,
  },
} as const satisfies Readonly<Record<string, JsonSchema>>;

const VERSION_HEADER = {
  description: "The version of the protocol",
  schema: { type: "string" },
} as const;

const RETRY_AFTER = {
  description: "Seconds after which to try again",
  schema: { type: "string" },
} as const;

function good(
  description: string,
  { schema, example }: {
    readonly schema: keyof typeof SCHEMAS;
    readonly example: NonNullable<
      OpenApiResponse["content"]
    >[string]["example"];
  },
): OpenApiResponse {
  return {
    description,
    headers: { "x-keyserver-version": VERSION_HEADER },
    content: {
      "application/json": {
        schema: { $ref: `#/components/schemas/${schema}` },
        example,
      },
    },
  };
}

function bad(
  description: string,
  { error, message, waits = false }: {
    readonly error: string;
    readonly message: string;
    readonly waits?: boolean;
  },
): OpenApiResponse {
  const version = { "x-keyserver-version": VERSION_HEADER };
  return {
    description,
    headers: waits ? { ...version, "retry-after": RETRY_AFTER } : version,
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        example: { error, message },
      },
    },
  };
}

/** Makes the OpenAPI document for this version of the key server. */
export function keyServerDocument(version: string): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: {
      title: "Tercet keyserver",
      version,
      description:
        "Keeps one share of what opens owners' memories, and gives " +
        "keys only to whom they name. The form is that of the public client " +
        "of such key servers, 1.4.",
    },
    servers: [{ url: "/" }],
    tags: [
      { name: "keys", description: "Requests are signed; see `KeyRequest`." },
      { name: "service" },
    ],
    paths: {
      "/v1/fetch_key": {
        post: {
          operationId: "fetchKey",
          summary: "Give the keys of identities",
          description: "For whom the owner's account names: the transaction " +
            "in `ptb` calls the account's approval for each identity, and the " +
            "ledger is asked whether it would pass. Each identity counts " +
            "against the limits of the address and of its network.",
          tags: ["keys"],
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: { $ref: "#/components/schemas/KeyRequest" },
                example: {
                  ptb: "AAEBAAECAw…",
                  enc_key: SAMPLE_POINT,
                  enc_verification_key: SAMPLE_POINT,
                  request_signature: "q83vASNFZ4m…",
                  certificate: {
                    user: SAMPLE_ID,
                    session_vk: "3q2+7wAAAA…",
                    creation_time: 1_767_225_600_000,
                    ttl_min: 10,
                    signature: "AKvN7wEjRW…",
                  },
                },
              },
            },
          },
          responses: {
            200: good("The keys, each encrypted to `enc_key`", {
              schema: "Keys",
              example: {
                decryption_keys: [{
                  id: [94, 7, 1],
                  encrypted_key: [SAMPLE_POINT, SAMPLE_POINT],
                }],
              },
            }),
            400: bad("It lacks something, or is of another package", {
              error: "InvalidParameter",
              message: "Cannot accept request: the certificate lacks a member",
            }),
            403: bad("It is not signed as it must be, or not allowed", {
              error: "NoAccess",
              message:
                "Cannot give keys: the account does not name the address",
            }),
            408: bad("Not all of the body came in time", {
              error: "Failure",
              message: "Cannot accept request: not all of it came",
            }),
            413: bad("The body is too large", {
              error: "InvalidParameter",
              message: "Cannot accept request: it has more than 131072 bytes",
            }),
            429: bad("Too many keys were asked for", {
              error: "Failure",
              message: "Cannot accept request: there were too many; wait",
              waits: true,
            }),
            503: bad("The ledger does not answer, or too many wait", {
              error: "Failure",
              message: "Cannot accept request: too many wait already",
              waits: true,
            }),
          },
          security: [],
        },
      },
      "/v1/service": {
        get: {
          operationId: "getService",
          summary: "Show that the key server has its secret",
          tags: ["service"],
          parameters: [{
            name: "service_id",
            in: "query",
            required: true,
            description: "The key server's object, which `/health` tells",
            schema: { ...OBJECT_ID, examples: [SAMPLE_ID] },
          }],
          responses: {
            200: good("The proof", {
              schema: "Service",
              example: { service_id: SAMPLE_ID, pop: SAMPLE_POINT },
            }),
            400: bad("It is another key server's object", {
              error: "InvalidServiceId",
              message: `Cannot show proof: this is ${SAMPLE_ID}`,
            }),
          },
          security: [],
        },
      },
      "/health": {
        get: {
          operationId: "getHealth",
          summary: "Tell that the process answers, and who it is",
          tags: ["service"],
          responses: {
            200: good("It does", {
              schema: "Health",
              example: {
                status: "ok",
                version: "0.1.0",
                service_id: SAMPLE_ID,
                package_id: SAMPLE_ID,
              },
            }),
          },
          security: [],
        },
      },
    },
    components: { schemas: SCHEMAS, securitySchemes: {} },
  };
}
