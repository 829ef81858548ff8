/**
 * Admits calls to routes: checks signatures and owners' tokens, charges points.
 *
 * @module
 */

import type { Turn } from "../../shared/fair_turns.ts";
import type { HttpResponse } from "../../shared/http/exchange.ts";
import type { Caller, FailedBody } from "../auth/authenticate.ts";
import { rateWeight } from "../auth/rate_limits.ts";
import { refusalResponse } from "../auth/refusal.ts";
import { normalizeLedgerId } from "../ledger/ledger_id.ts";
import { type Answer, refused, renderAnswer } from "./answer.ts";
import type { RelayerParts } from "./parts.ts";
import type {
  OpenCall,
  OwnerCall,
  OwnerRoute,
  SignedCall,
  SignedRoute,
} from "./route.ts";

/** The outcome of admitting a call. */
type Admission<Call> =
  | { readonly kind: "ok"; readonly call: Call }
  | { readonly kind: "refused"; readonly response: HttpResponse };

/** A call before its body was read. */
export type Arrival = Omit<OpenCall, "body">;

const BUSY_RETRY_MS = 1_000;

/** Reads the body of an unsigned call. */
export async function admitOpen(
  arrival: Arrival,
  { maxBodyBytes }: { readonly maxBodyBytes: number },
): Promise<Admission<OpenCall>> {
  if (maxBodyBytes === 0) return admitted({ ...arrival, body: NO_BYTES });
  const body = await arrival.request.body(maxBodyBytes);
  return body.kind === "ok"
    ? admitted({ ...arrival, body: body.bytes })
    : refusedWith(bodyAnswer(body, maxBodyBytes));
}

/** Lets delegates of accounts in; from then on their owner pays for the turn. */
export async function admitSigned(
  arrival: Arrival,
  { parts, route, turn }: {
    readonly parts: RelayerParts;
    readonly route: SignedRoute;
    readonly turn: Turn;
  },
): Promise<Admission<SignedCall>> {
  const signed = await checkSignature(arrival, { parts, route });
  if (signed.kind === "refused") return signed;
  const { caller, body } = signed.call;
  turn.moveTo(caller.owner);
  const limited = rateAnswer(caller, { parts, route, body });
  if (limited !== undefined) return refusedWith(limited);
  await turn.pause();
  return signed;
}

/** Admits callers who may read what the owner in the path has. */
export async function admitOwner(
  arrival: Arrival,
  { parts, route, turn }: {
    readonly parts: RelayerParts;
    readonly route: OwnerRoute;
    readonly turn: Turn;
  },
): Promise<Admission<OwnerCall>> {
  const entered = await enterOwner(arrival, { parts, route });
  if (entered.kind === "refused") return entered;
  const { spender, body } = entered.call;
  const owner = normalizeLedgerId(arrival.params["owner"] ?? "");
  if (owner === undefined || owner !== spender.owner) {
    return refusedWith(refused(
      403,
      "Cannot read listing: the path names another owner than the one who asks",
    ));
  }
  turn.moveTo(owner);
  const limited = rateAnswer(spender, { parts, route, body });
  if (limited !== undefined) return refusedWith(limited);
  await turn.pause();
  return admitted({ ...arrival, body, owner, spender });
}

/**
 * Charges points for bytes that were read or answered with: one for each
 * `pointBytes` of them, those that are no whole point for nothing. That comes on
 * top of what the call costs by its route, and may go over what is allowed; then
 * the next calls wait for it.
 */
export function chargeBytes(
  spender: Caller,
  { parts, bytes }: {
    readonly parts: RelayerParts;
    readonly bytes: number;
  },
): void {
  const { isRateLimitDisabled, pointBytes, rateLimits } = parts;
  if (isRateLimitDisabled || pointBytes === 0) return;
  const points = Math.floor(bytes / pointBytes);
  if (points > 0) rateLimits.charge(spender, points);
}

/** A refusal without a body, given after a moment. */
async function refuseQuietly(
  { status, code }: { readonly status: number; readonly code: string },
  parts: RelayerParts,
): Promise<HttpResponse> {
  await parts.refusalDelay.wait();
  return renderAnswer({ status, headers: { "x-auth-error": code } });
}

const NO_BYTES = new Uint8Array();

function admitted<Call>(call: Call): Admission<Call> {
  return { kind: "ok", call };
}

function refusedWith(answer: Answer): Admission<never> {
  return { kind: "refused", response: renderAnswer(answer) };
}

async function checkSignature(
  arrival: Arrival,
  { parts, route }: {
    readonly parts: RelayerParts;
    readonly route: SignedRoute | OwnerRoute;
  },
): Promise<Admission<SignedCall>> {
  const { request } = arrival;
  const { method, target, headers } = request;
  const { maxBodyBytes } = route;
  const outcome = await parts.authenticator.authenticate({
    method,
    target,
    headers,
    body: (maxBytes) => request.body(Math.min(maxBytes, maxBodyBytes)),
  });
  switch (outcome.kind) {
    case "ok":
      return admitted({
        ...arrival,
        caller: outcome.caller,
        body: outcome.body,
      });
    case "no_body":
      return refusedWith(bodyAnswer(outcome.body, maxBodyBytes));
    case "refused":
      if (outcome.reason !== undefined) {
        parts.logger.warn("Cannot let request in", {
          code: outcome.code,
          reason: outcome.reason,
        });
      }
      await parts.refusalDelay.wait();
      return { kind: "refused", response: refusalResponse(outcome) };
  }
}

/** Bearers of a token need no signature. */
async function enterOwner(
  arrival: Arrival,
  { parts, route }: {
    readonly parts: RelayerParts;
    readonly route: OwnerRoute;
  },
): Promise<
  Admission<{ readonly spender: Caller; readonly body: Uint8Array }>
> {
  const authorization = arrival.request.headers.get("authorization");
  if (authorization === undefined) {
    const signed = await checkSignature(arrival, { parts, route });
    if (signed.kind === "refused") return signed;
    const { caller, body } = signed.call;
    return admitted({ spender: caller, body });
  }
  const bearer = parts.ownerTokens?.bearerOf(arrival.request.headers);
  if (bearer?.permissions.includes(route.permission) === true) {
    return admitted({ spender: bearerCaller(bearer.owner), body: NO_BYTES });
  }
  const refusal = { status: 401, code: "ERR_OWNER_TOKEN" };
  return { kind: "refused", response: await refuseQuietly(refusal, parts) };
}

/** Bearers of tokens have points of their own, by the owner. */
function bearerCaller(owner: string): Caller {
  const name = `token:${owner}`;
  return { owner, accountId: name, publicKey: name };
}

function rateAnswer(
  caller: Caller,
  { parts, route, body }: {
    readonly parts: RelayerParts;
    readonly route: SignedRoute | OwnerRoute;
    readonly body: Uint8Array;
  },
): Answer | undefined {
  if (parts.isRateLimitDisabled) return undefined;
  const points = rateWeight(route.method, route.path);
  const outcome = parts.rateLimits.take(caller, points);
  if (outcome.kind === "ok") {
    chargeBytes(caller, { parts, bytes: body.length });
    return undefined;
  }
  const { layer, limit, retryAfterSeconds } = outcome;
  return {
    status: 429,
    json: {
      error: `Cannot answer: the limit of ${limit} points is used up; ` +
        `try again in ${retryAfterSeconds} seconds`,
      layer,
      limit,
      retry_after_seconds: retryAfterSeconds,
    },
    headers: { "retry-after": String(retryAfterSeconds) },
  };
}

function bodyAnswer(body: FailedBody, maxBodyBytes: number): Answer {
  switch (body.kind) {
    case "too_large":
      return refused(
        413,
        `Cannot read body: it has more than ${maxBodyBytes} bytes`,
      );
    case "busy":
      return refused(503, "Cannot read body: too many bodies are under way", {
        retryAfterMs: BUSY_RETRY_MS,
      });
    case "aborted":
      // Who disconnected does not see the answer.
      return refused(408, "Cannot read body: not all of it came in time");
  }
}
