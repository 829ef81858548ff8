/**
 * The HTTP handler of the key server: `POST /v1/fetch_key`, `GET /v1/service`
 * and `GET /health`. Requests and answers have the form of the public client,
 * 1.4.
 *
 * @module
 */

import { elgamalEncrypt, isRequestKeyPair } from "../../sdk/vault/elgamal.ts";
import {
  deriveUserKey,
  toFullId,
} from "../../sdk/vault/identity_encryption.ts";
import { type Clock, steadyMs } from "../shared/clock.ts";
import type { FairTurns, Turn } from "../shared/fair_turns.ts";
import { toClientGroup } from "../shared/http/client_address.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../shared/http/exchange.ts";
import type { Network } from "../shared/ip_network.ts";
import { sha256 } from "../shared/ledger/digest.ts";
import type { Logger, RateLimitedLog } from "../shared/logger.ts";
import { describeError } from "../shared/settled.ts";
import { nameRoute, tracedHandler } from "../shared/telemetry/traced_http.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import { TokenBuckets } from "../shared/token_buckets.ts";
import type { Approver } from "./approver.ts";
import type { KeyServerMetrics } from "./key_server_metrics.ts";
import { type KeyErrorName, readKeyRequest } from "./key_request.ts";

/** Parts of the handler. */
interface HandlerParts {
  /** The master secret, from which the key of every identity is derived. */
  readonly secret: Uint8Array;
  /** The id of the key server's object on the ledger. */
  readonly objectId: string;
  /**
   * Returns the proof that the key server has its secret; it is always the
   * same.
   */
  readonly possessionProof: () => Uint8Array;
  /** The package whose keys are given. */
  readonly packageId: string;
  /** Decides which addresses may have keys. */
  readonly approver: Approver;
  /** Limits of keys by address on the ledger. */
  readonly userLimits: TokenBuckets;
  /** Limits of keys by IP address. */
  readonly peerLimits: TokenBuckets;
  /** Proxies whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly Network[];
  /** Shares the thread between clients. */
  readonly turns: FairTurns;
  /** The time. */
  readonly clock: Clock;
  /** Logs each key that was given, and a ledger that contradicts itself. */
  readonly logger: Logger;
  /** Logs a ledger that does not respond, at a limited rate. */
  readonly silence: Pick<RateLimitedLog, "warn">;
  /** Counts requests by their outcome. */
  readonly metrics: KeyServerMetrics;
  /** Makes spans of requests; undefined where tracing is off. */
  readonly tracing: Tracing | undefined;
  /** The version that `/health` answers. */
  readonly version: string;
}

const MAX_BODY_BYTES = 131_072;

type Answer = (request: HttpRequest, parts: HandlerParts) =>
  | HttpResponse
  | Promise<HttpResponse>;

const ROUTES: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ["POST /v1/fetch_key", fetchKey],
  ["GET /v1/service", service],
  ["GET /health", health],
]);

/**
 * Returns the routes, each as a method and a path with a space between them.
 */
export function routeNames(): readonly string[] {
  return [...ROUTES.keys()];
}

/** Limits how many keys each caller may ask for, at once and a minute. */
export function keyLimits(perMinute: number): TokenBuckets {
  return new TokenBuckets({
    perPeriod: perMinute,
    periodMs: 60_000,
    maxNames: 20_000,
  });
}

/** Makes the handler of the key server's port. */
export function createHandler(parts: HandlerParts): HttpHandler {
  return tracedHandler(async (request, span) => {
    const beganMs = steadyMs(parts.clock);
    const { method, target } = request;
    const path = target.split("?", 1)[0] ?? "";
    const route = `${method === "HEAD" ? "GET" : method} ${path}`;
    const answer = ROUTES.get(route);
    if (answer === undefined) {
      return notThere(method, path);
    }
    if (span !== undefined) nameRoute(span, { method, path });
    const response = await answerSafely(answer, { request, parts, route });
    const { status } = response;
    const tookMs = steadyMs(parts.clock) - beganMs;
    parts.metrics.http.count({ route, status, tookMs });
    return response;
  }, parts.tracing);
}

async function answerSafely(
  answer: Answer,
  { request, parts, route }: {
    readonly request: HttpRequest;
    readonly parts: HandlerParts;
    readonly route: string;
  },
): Promise<HttpResponse> {
  try {
    return await answer(request, parts);
  } catch (error) {
    const reason = describeError(error);
    parts.logger.error("Cannot answer a request", { route, error: reason });
    return failure("Failure", "Cannot answer: a part of the server has failed");
  }
}

function health(_request: HttpRequest, parts: HandlerParts): HttpResponse {
  const { version, objectId, packageId } = parts;
  return jsonAnswer(200, {
    status: "ok",
    version,
    service_id: objectId,
    package_id: packageId,
  });
}

function service({ target }: HttpRequest, parts: HandlerParts): HttpResponse {
  const asked = new URLSearchParams(target.split("?")[1]).get("service_id");
  const { objectId, possessionProof } = parts;
  if (asked !== objectId) {
    return failure(
      "InvalidServiceId",
      `Cannot show proof: this is ${objectId}`,
    );
  }
  return jsonAnswer(200, {
    service_id: objectId,
    pop: possessionProof().toBase64(),
  });
}

async function fetchKey(
  request: HttpRequest,
  parts: HandlerParts,
): Promise<HttpResponse> {
  let outcome = "Failure";
  try {
    const taken = await takeRequest(request, parts);
    ({ outcome } = taken);
    return taken.response;
  } finally {
    parts.metrics.outcomes.of({ outcome }).add();
  }
}

/** The response to a request, and the word that the metrics count it by. */
interface Outcome {
  readonly outcome: string;
  readonly response: HttpResponse;
}

async function takeRequest(
  request: HttpRequest,
  parts: HandlerParts,
): Promise<Outcome> {
  const client = toClientGroup(request, parts.trustedProxies);
  const waitMs = parts.peerLimits.take(client, steadyMs(parts.clock));
  if (waitMs > 0) return tooMany(waitMs);
  const body = await request.body(MAX_BODY_BYTES);
  switch (body.kind) {
    case "too_large":
      return refusal(
        "InvalidParameter",
        `Cannot accept request: it has more than ${MAX_BODY_BYTES} bytes`,
        413,
      );
    case "busy":
      return refusal(
        "Failure",
        "Cannot accept request: too many arrive at once",
      );
    case "aborted":
      return refusal(
        "Failure",
        "Cannot accept request: not all of it came",
        408,
      );
  }
  const stranger = { group: "strangers", member: client };
  const begun = await parts.turns.begin(stranger, request);
  if (begun.kind !== "ok") {
    return refusal("Failure", "Cannot accept request: too many wait already");
  }
  const { turn } = begun;
  return await keysFor(body.bytes, { parts, turn, request, client });
}

async function keysFor(
  bytes: Uint8Array,
  { parts, turn, request, client }: {
    readonly parts: HandlerParts;
    readonly turn: Turn;
    readonly request: HttpRequest;
    readonly client: string;
  },
): Promise<Outcome> {
  const { packageId, clock, logger, approver } = parts;
  const read = await readKeyRequest(bytes, { packageId, nowMs: clock.nowMs() });
  if (read.kind === "refused") return refusal(read.error, read.message);
  const { user, kind, encKey, encVerificationKey } = read.request;
  const waitMs = parts.userLimits.take(user, steadyMs(clock));
  if (waitMs > 0) return tooMany(waitMs);
  turn.moveTo({ group: "users", member: user });
  const answer = await approver.approve({ user, kind });
  switch (answer.kind) {
    case "invalid":
      return refusal("InvalidPTB", answer.reason);
    case "package":
      return refusal("UnsupportedPackageId", answer.reason);
    case "refused":
      return refusal("NoAccess", answer.reason);
    case "unavailable": {
      const { reason, detail, isAlarming } = answer;
      const fields = detail === undefined ? { user } : { user, detail };
      if (isAlarming) {
        parts.metrics.contradictions.add();
        logger.error(reason, fields);
      } else parts.silence.warn(reason, fields);
      return refusal("Failure", reason);
    }
  }
  const { account } = answer;
  const ids = unique(answer.ids);
  const nowMs = steadyMs(clock);
  parts.userLimits.takeMore(user, ids.length - 1, nowMs);
  parts.peerLimits.takeMore(client, ids.length - 1, nowMs);
  await turn.pause();
  if (!turn.measure(() => isRequestKeyPair(encKey, encVerificationKey))) {
    return refusal(
      "InvalidParameter",
      "Cannot accept request: enc_key and enc_verification_key do not match",
    );
  }
  const keys: unknown[] = [];
  for (const id of ids) {
    await turn.pause();
    // The client is gone: the remaining keys would be computed in vain.
    if (request.isGone()) {
      const response = failure(
        "Failure",
        "Cannot answer: the client has disconnected",
      );
      return { outcome: "Gone", response };
    }
    const fullId = toFullId(packageId, id);
    const pair = elgamalEncrypt(deriveUserKey(parts.secret, fullId), encKey);
    keys.push({
      id: [...fullId],
      encrypted_key: pair?.map((point) => point.toBase64()),
    });
    // Only a hash of the identity is logged: the identity may contain what its
    // owner would not show.
    const identity = sha256(fullId).toHex().slice(0, 16);
    logger.info("Gave a key", { user, account, identity, packageId });
    parts.metrics.given.add();
  }
  return {
    outcome: "given",
    response: jsonAnswer(200, { decryption_keys: keys }),
  };
}

function unique(ids: readonly Uint8Array[]): readonly Uint8Array[] {
  return [...new Map(ids.map((id) => [id.toHex(), id])).values()];
}

function refusal(
  error: KeyErrorName,
  message: string,
  status?: number,
): Outcome {
  return { outcome: error, response: failure(error, message, status) };
}

/**
 * The version of the protocol in the answers' header; the public client accepts
 * 0.4.1 and later.
 */
const PROTOCOL_VERSION = "0.5.0";
const RETRY_SECONDS = 1;

const ALWAYS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-keyserver-version": PROTOCOL_VERSION,
  // Requests carry signatures and no cookies: any page may send them.
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "x-keyserver-version, retry-after",
};

/**
 * HTTP statuses of errors; the same as those of the public servers, except for
 * malformed requests.
 */
const STATUSES: Readonly<Record<KeyErrorName, number>> = {
  InvalidPTB: 403,
  NoAccess: 403,
  InvalidCertificate: 403,
  InvalidSignature: 403,
  InvalidSessionSignature: 403,
  InvalidMVRName: 403,
  InvalidParameter: 400,
  InvalidServiceId: 400,
  UnsupportedPackageId: 400,
  Failure: 503,
};

/** Makes an answer with a JSON body. */
function jsonAnswer(status: number, value: unknown): HttpResponse {
  return {
    status,
    headers: { ...ALWAYS, "content-type": "application/json" },
    body: JSON.stringify(value),
  };
}

/** Makes an error answer, with the error name that the public client knows. */
function failure(
  error: KeyErrorName,
  message: string,
  status = STATUSES[error],
): HttpResponse {
  const response = jsonAnswer(status, { error, message });
  if (status !== 503) return response;
  const headers = { ...response.headers, "retry-after": String(RETRY_SECONDS) };
  return { ...response, headers };
}

/** Makes the answer to a caller over its limit, with the time to wait. */
function tooMany(waitMs: number): Outcome {
  const message = "Cannot accept request: there were too many; wait";
  const response = jsonAnswer(429, { error: "Failure", message });
  const seconds = String(Math.ceil(waitMs / 1_000));
  const headers = { ...response.headers, "retry-after": seconds };
  return { outcome: "TooManyRequests", response: { ...response, headers } };
}

/**
 * Answers requests that fit no route: 404 for an unknown path, 405 with the
 * allowed methods for a known one, and 204 for a browser's preflight request
 * (OPTIONS).
 */
function notThere(method: string, path: string): HttpResponse {
  const allowed = routeNames()
    .map((route) => route.split(" ", 2))
    .filter(([, known]) => known === path)
    .map(([known]) => known ?? "");
  if (allowed.length === 0) {
    return jsonAnswer(404, {
      error: "InvalidParameter",
      message: `Cannot find path: there are ${routeNames().join(", ")}`,
    });
  }
  const allow = [...allowed, "OPTIONS"].join(", ");
  if (method === "OPTIONS") {
    return {
      status: 204,
      headers: {
        ...ALWAYS,
        allow,
        "access-control-allow-methods": allow,
        // Clients may send an API key under a header name of their choice.
        "access-control-allow-headers": "*",
        "access-control-max-age": "7200",
      },
    };
  }
  const response = jsonAnswer(405, {
    error: "InvalidParameter",
    message: `Cannot use this method here: only ${allow} can be used`,
  });
  return { ...response, headers: { ...response.headers, allow } };
}
