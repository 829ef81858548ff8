/**
 * The mock's access tokens: what the real relayer refuses to a token, the mock
 * refuses, too. As with signed requests, signatures are not verified.
 *
 * @module
 */

import {
  type AccessTokenClaims,
  readAccessToken,
} from "../memory/access_token.ts";
import { isObject } from "../memory/answer_reader.ts";
import {
  createAnswer,
  type MockAnswer,
  type MockCall,
  type MockRequest,
  type MockRoute,
} from "./mock_exchange.ts";
import type { MockStore } from "./mock_store.ts";
import { MOCK_ACCOUNT } from "./mock_views.ts";
import { RELAYER_ROUTES } from "./relayer_routes.ts";

/** What a token permits; undefined for a signed request. */
export type MockGrant =
  | Pick<AccessTokenClaims, "access" | "namespaces">
  | undefined;

/** How long after its expiry a token is accepted, in milliseconds. */
const SKEW_MS = 300_000;
const DEFAULT_NAMESPACE = "default";

/** Reads a request's token, or makes the answer that refuses it. */
export function readGrant(
  { headers }: Pick<MockRequest, "headers">,
  nowMs: number,
): { readonly grant: MockGrant } | { readonly refusal: MockAnswer } {
  const [scheme = "", token = ""] = (headers.get("authorization") ?? "").split(
    " ",
  );
  if (headers.has("x-signature") || scheme.toLowerCase() !== "bearer") {
    return { grant: undefined };
  }
  let claims: AccessTokenClaims;
  try {
    claims = readAccessToken(token);
  } catch {
    return refuse(
      "ERR_TOKEN_FORMAT",
      "it is of no known version, or only a part",
    );
  }
  if (claims.accountId !== MOCK_ACCOUNT.accountId) {
    return refuse("ERR_ACCOUNT_UNKNOWN", "no account has the key");
  }
  if (claims.publicKey !== MOCK_ACCOUNT.publicKey) {
    return refuse(
      "ERR_KEY_NOT_DELEGATE",
      "the key is not one of the account's",
    );
  }
  return nowMs >= claims.expiresAtMs + SKEW_MS
    ? refuse("ERR_TOKEN_EXPIRED", "it has expired; make another")
    : { grant: claims };
}

/**
 * Makes the answer to a request that its token does not permit; undefined when
 * it does. Memories of other namespaces are as if they did not exist.
 */
export function refuseGrant(
  grant: MockGrant,
  { route, body, params, store }: Pick<MockCall, "body" | "params"> & {
    readonly route: MockRoute;
    readonly store: MockStore;
  },
): MockAnswer | undefined {
  if (grant === undefined) return undefined;
  const { scope = "read" } = RELAYER_ROUTES[route] as {
    readonly scope?: "read" | "write";
  };
  if (scope === "write" && grant.access === "read") {
    return forbid("INSUFFICIENT_SCOPE", "it may only read");
  }
  const other = namespacesOf(route, body).find((name) =>
    !isGranted(grant, name)
  );
  if (other !== undefined) {
    return forbid("NAMESPACE_REFUSED", "it is not for this namespace");
  }
  const ids = [...params, ...items(body).map((item) => item["supersedes"])];
  const isHidden = ids.some((id) => {
    const memory = typeof id === "string" ? store.findMemory(id) : undefined;
    return memory !== undefined && !isGranted(grant, memory.namespace);
  });
  return isHidden
    ? createAnswer(404, { error: "Cannot find it: it does not exist" })
    : undefined;
}

/** Leaves what a token's namespaces do not include out of an answer's lists. */
export function boundAnswer(answer: MockAnswer, grant: MockGrant): MockAnswer {
  const { json } = answer;
  if (grant?.namespaces === undefined || !isObject(json)) return answer;
  const bounded = Object.entries(json).map(([name, value]) => {
    if (!Array.isArray(value)) return [name, value];
    const isNamespaces = name === "namespaces";
    const isKept = (one: unknown): boolean => {
      const { namespace_id: id, name, namespace = id } = Object(one);
      const named = isNamespaces ? name : namespace;
      return typeof named !== "string" || isGranted(grant, named);
    };
    const isJob = name === "results";
    return [
      name,
      isJob
        ? value.map((one) => isKept(one) ? one : asUnknown(one))
        : value.filter(isKept),
    ];
  });
  return { ...answer, json: Object.fromEntries(bounded) };
}

function asUnknown(job: unknown): unknown {
  return { job_id: Object(job).job_id, status: "not_found" };
}

function isGranted(grant: MockGrant, namespace: string): boolean {
  return grant?.namespaces?.includes(namespace) ?? true;
}

/** The objects of a body that may name a namespace or a memory. */
function items(body: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isObject(body)) return [];
  const { items: several } = body;
  return Array.isArray(several) ? several.filter(isObject) : [body];
}

/** The namespaces of a body, for a route whose bodies have them. */
function namespacesOf(route: MockRoute, body: unknown): readonly string[] {
  const { body: members } = RELAYER_ROUTES[route] as {
    readonly body?: Readonly<Record<string, unknown>>;
  };
  const isPlaced = members !== undefined &&
    ("namespace" in members || "items" in members);
  return !isPlaced
    ? []
    : items(body).map(({ namespace }) =>
      typeof namespace === "string" ? namespace : DEFAULT_NAMESPACE
    );
}

function refuse(code: string, state: string) {
  const error = `Cannot accept the access token: ${state}`;
  return {
    refusal: createAnswer(401, { error, code }, {
      "x-auth-error": code,
      "www-authenticate": 'Bearer realm="relayer", error="invalid_token"',
    }),
  };
}

function forbid(code: string, state: string): MockAnswer {
  return createAnswer(403, {
    error: `Cannot use the access token here: ${state}`,
    code,
  });
}
