/**
 * The OpenAPI document of the relayer, made of its routes.
 *
 * @module
 */

import type {
  OpenApiDocument,
  OpenApiMedia,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiReference,
  OpenApiResponse,
  OpenApiSecurityScheme,
} from "../../../shared/openapi/document.ts";
import {
  type JsonSchema,
  type JsonValue,
  mergeDefinitions,
} from "../../../shared/schema/schema.ts";
import type { Route } from "../route.ts";
import { memoryAnswer } from "./memory_answers.ts";
import { TAGS } from "./route_words.ts";

function header(name: string, description: string): OpenApiSecurityScheme {
  return { type: "apiKey", in: "header", name, description };
}

/** How callers authenticate. */
const SECURITY_SCHEMES = {
  publicKey: header(
    "x-public-key",
    "The delegate's Ed25519 key, 64 hexadecimal digits",
  ),
  signature: header(
    "x-signature",
    "The signature, 128 hexadecimal digits, of timestamp, method, path with " +
      "query, SHA-256 of the body in hexadecimal digits, nonce and account id, " +
      "joined with full stops",
  ),
  timestamp: header("x-timestamp", "Seconds since the Unix epoch"),
  nonce: header("x-nonce", "A UUID that was not used before"),
  account: header("x-account-id", "The account's id; may be left empty"),
  accessToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "An access token that a delegate has signed, such as with " +
      "`tercet mcp token`",
  },
  ownerToken: {
    type: "http",
    scheme: "bearer",
    description: "A token of `POST /v1/owner-tokens`",
  },
  serviceCredential: header(
    "x-service-credential",
    "What services know that read owners' pages",
  ),
} as const satisfies Readonly<Record<string, OpenApiSecurityScheme>>;

type Requirement = Readonly<Record<string, readonly string[]>>;

const SIGNED: Requirement = {
  publicKey: [],
  signature: [],
  timestamp: [],
  nonce: [],
  account: [],
};

const RETRY_AFTER = {
  "retry-after": {
    description: "Seconds after which to try again",
    schema: { type: "string" },
  },
} as const;

const AUTH_ERROR = {
  "x-auth-error": {
    description: "Why, in one word",
    schema: { type: "string" },
  },
} as const;

function refusal(description: string, example: JsonValue): OpenApiResponse {
  return {
    description,
    content: {
      "application/json": {
        schema: memoryAnswer("Error").json,
        example,
      },
    },
  };
}

/** Answers that many routes give. */
const RESPONSES = {
  BadBody: refusal("The body is not as it has to be", {
    error: 'Cannot remember text: "text" is blank',
  }),
  NotSigned: {
    ...refusal("The signature, without a body, or the token is not right", {
      error: "Cannot accept the access token: it has expired; make another",
      code: "ERR_TOKEN_EXPIRED",
    }),
    headers: AUTH_ERROR,
  },
  NotGranted: refusal("The access token is not for this", {
    error:
      "Cannot use the access token here: it may only read; make one with " +
      "--access write",
    code: "INSUFFICIENT_SCOPE",
  }),
  OtherOwner: refusal(
    "The path names another owner, or the token is not for this",
    {
      error: "Cannot read listing: the path names another owner than the one " +
        "who asks",
    },
  ),
  TooSlow: refusal("Not all of the body came in time", {
    error: "Cannot read body: it did not arrive in time",
  }),
  TooLarge: refusal("The body is too large", {
    error: "Cannot read body: it has more than 2097152 bytes",
  }),
  TooOld: {
    description: "The client is older than this protocol",
    headers: AUTH_ERROR,
  },
  RateLimited: {
    description: "The points are used up",
    headers: RETRY_AFTER,
    content: {
      "application/json": {
        schema: memoryAnswer("RateLimited").json,
        example: {
          error:
            "Cannot answer: the limit of 60 points is used up; try again " +
            "in 12 seconds",
          layer: "delegate_key",
          limit: 60,
          retry_after_seconds: 12,
        },
      },
    },
  },
  Failed: refusal("The relayer failed", {
    error: "Cannot answer: the relayer failed",
    trace_id: "0b37057c87684103b9d94f5b61ceeb7b",
  }),
  Unavailable: refusal(
    "A part that is needed does not answer, or too many wait; without a body " +
      "where the part is needed to let the caller in",
    { error: "Cannot recall: a part of the relayer does not answer" },
  ),
} as const satisfies Readonly<Record<string, OpenApiResponse>>;

function shared(name: keyof typeof RESPONSES): OpenApiReference {
  return { $ref: `#/components/responses/${name}` };
}

/** Makes the OpenAPI document of these routes. */
export function relayerDocument(
  routes: readonly Route[],
  version: string,
): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    const path = toTemplate(route.path);
    const item = paths[path] ??= {};
    item[route.method.toLowerCase()] = describeOperation(route);
  }
  const schemas = mergeDefinitions([
    memoryAnswer("Error"),
    memoryAnswer("RateLimited"),
    ...routes.flatMap(({ body, words: { answer } }) =>
      body === undefined ? [answer] : [body, answer]
    ),
  ]);
  const document: OpenApiDocument = {
    openapi: "3.1.0",
    info: {
      title: "Tercet relayer",
      version,
      description: "Remembers text for an account, encrypted, and finds it " +
        "again.\n\n" +
        "Requests are signed by a delegate's key; the SDK does that. Clients " +
        "that cannot sign send an access token that a delegate has signed. A " +
        "call costs points of which there are so many each minute.",
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      responses: RESPONSES,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
  // JSON leaves out members that are undefined.
  return JSON.parse(JSON.stringify(document));
}

function toTemplate(path: string): string {
  return path.replaceAll(/:([a-z]+)/g, "{$1}");
}

function describeOperation(route: Route): OpenApiOperation {
  const { words } = route;
  const parameters = describeParameters(route);
  return {
    operationId: words.id,
    summary: words.summary,
    description: formatDescription(route),
    tags: [words.tag],
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: describeBody(route),
    responses: describeResponses(route),
    security: describeSecurity(route),
  };
}

function formatDescription(
  { access, points = 1, words: { description } }: Route,
): string | undefined {
  if (access === "open") return description;
  const cost = `Costs ${points === 1 ? "a point" : `${points} points`}.`;
  return description === undefined ? cost : `${description}\n\n${cost}`;
}

function describeParameters(
  { path, words: { query = {} } }: Route,
): readonly OpenApiParameter[] {
  const inPath = [...path.matchAll(/:([a-z]+)/g)].map(
    ([, name = ""]): OpenApiParameter => ({
      name,
      in: "path",
      required: true,
      description: name === "owner"
        ? "The owner by the ledger's address"
        : "The memory, or the job that stores it",
      schema: { type: "string" },
    }),
  );
  const asked = Object.entries(query).map(
    ([name, { description, ...schema }]): OpenApiParameter => ({
      name,
      in: "query",
      required: false,
      description,
      schema,
    }),
  );
  return [...inPath, ...asked];
}

function describeBody(
  { body, words: { sent } }: Route,
): OpenApiOperation["requestBody"] {
  if (body === undefined) return undefined;
  const { json: schema } = body;
  return {
    required: true,
    content: {
      "application/json": { schema, example: fitSample(sent, schema) },
    },
  };
}

/**
 * Fits the example's vector to the width of this relayer's vectors, which
 * examples cannot know.
 */
function fitSample(
  sent: JsonValue | undefined,
  { properties = {} }: JsonSchema,
): JsonValue | undefined {
  const width = properties["vector"]?.minItems;
  if (width === undefined || typeof sent !== "object" || sent === null) {
    return sent;
  }
  const vector = Array.from({ length: width }, (_, at) => at === 0 ? 1 : 0);
  return { ...sent, vector };
}

function describeResponses(
  route: Route,
): Readonly<Record<string, OpenApiResponse | OpenApiReference>> {
  const { id, status = 200, means, answer, others = {} } = route.words;
  const media: OpenApiMedia = { schema: answer.json, example: answer.sample };
  const found: Record<string, OpenApiResponse | OpenApiReference> = {
    [status]: { description: means, content: { "application/json": media } },
  };
  if (route.body !== undefined) {
    found["400"] = shared("BadBody");
    found["413"] = shared("TooLarge");
  }
  if (route.access !== "open") {
    // A body sent to a route that takes none is too large as well.
    found["413"] = shared("TooLarge");
    found["401"] = shared("NotSigned");
    found["403"] = shared("NotGranted");
    found["426"] = shared("TooOld");
    found["429"] = shared("RateLimited");
  }
  if (route.access === "owner") found["403"] = shared("OtherOwner");
  found["408"] = shared("TooSlow");
  found["500"] = shared("Failed");
  found["503"] = shared("Unavailable");
  for (const [other, description] of Object.entries(others)) {
    found[other] = Number(other) === 401
      ? { description, headers: AUTH_ERROR }
      : Number(other) < 400
      ? { description }
      : refusal(description, { error: `Cannot ${id}: …` });
  }
  return found;
}

function describeSecurity(
  { access, words: { id } }: Route,
): readonly Requirement[] {
  switch (access) {
    case "signed":
      return [{ accessToken: [] }, SIGNED];
    case "owner":
      return [{ accessToken: [] }, { ownerToken: [] }, SIGNED];
    case "open":
      return id === "makeOwnerToken" ? [{ serviceCredential: [] }] : [];
  }
}
