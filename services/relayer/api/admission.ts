/**
 * Decides whether a call may reach its route: verifies signatures, access
 * tokens and owner tokens, and charges rate-limit points.
 *
 * @module
 */

import type { Turn } from "../../shared/fair_turns.ts";
import type { HttpResponse } from "../../shared/http/exchange.ts";
import { settle } from "../../shared/settled.ts";
import type { Caller, LateRefusal } from "../auth/authenticate.ts";
import { readBearer } from "../auth/bearer.ts";
import { type Refusal, refusalResponse } from "../auth/refusal.ts";
import { isAccessToken } from "../auth/token_claims.ts";
import { addressOfPublicKey, normalizeLedgerId } from "../ledger/ledger_id.ts";
import { type Answer, noBody, refused, renderAnswer } from "./answer.ts";
import type { RelayerParts } from "./parts.ts";
import type { OpenCall, OwnerRoute, Route, SignedRoute } from "./route.ts";
import { ruleRefusal } from "./token_rule.ts";

/** A call before its body was read. */
export type Arrival = Omit<OpenCall, "body">;

/** Parts that admission needs. */
interface AdmitOptions<R extends Route> {
  readonly parts: RelayerParts;
  readonly route: R;
  readonly turn: Turn;
}

/** A call that is not admitted, with the response to send. */
interface Refused {
  readonly kind: "refused";
  readonly response: HttpResponse;
}

/** A caller whose signature or token is valid, and the body of the request. */
interface Entered {
  readonly kind: "entered";
  readonly caller: Caller;
  readonly body: Uint8Array;
  /** What is left to be found out of the request. */
  readonly late?: LateRefusal | undefined;
}

/** A call that may reach its route. */
interface Admitted {
  readonly kind: "ok";
  /** Calls the route's handler. */
  readonly answer: () => Answer | Promise<Answer>;
  /**
   * The caller whose points pay for the answer; undefined for unsigned calls.
   */
  readonly spender: Caller | undefined;
  /** What is left to be found out of the request. */
  readonly late?: LateRefusal | undefined;
}

/** The outcome of admitting a call. */
type Admission = Admitted | Refused;

const NO_BYTES = new Uint8Array();

/** Admits a call to its route, or makes the response that refuses it. */
export async function admit(
  arrival: Arrival,
  { parts, route, turn }: AdmitOptions<Route>,
): Promise<Admission> {
  switch (route.access) {
    case "open": {
      const { maxBodyBytes = 0 } = route;
      const read = await readBytes(arrival, maxBodyBytes);
      if (read.kind !== "ok") {
        return refusedWith(noBody(read, maxBodyBytes));
      }
      const call = { ...arrival, body: read.bytes };
      return {
        kind: "ok",
        answer: () => route.answer(call),
        spender: undefined,
      };
    }
    case "signed": {
      const entered = await enterAccount(arrival, { parts, route, turn });
      if (entered.kind === "refused") return entered;
      const { caller, body, late } = entered;
      const call = { ...arrival, caller, body };
      await turn.pause();
      if (caller.grant === undefined) {
        await takeSession(arrival, { parts, caller });
      }
      return {
        kind: "ok",
        answer: () => route.answer(call),
        spender: caller,
        late,
      };
    }
    case "owner": {
      const entered = await enterOwner(arrival, { parts, route, turn });
      if (entered.kind === "refused") return entered;
      const { caller: spender, body, late } = entered;
      const owner = normalizeLedgerId(arrival.params["owner"] ?? "");
      if (owner === undefined || owner !== spender.owner) {
        return refusedWith(refused(
          403,
          "Cannot read listing: the path names another owner than the one who asks",
        ));
      }
      const call = { ...arrival, body, owner, spender };
      await turn.pause();
      return { kind: "ok", answer: () => route.answer(call), spender, late };
    }
  }
}

/**
 * Calls the route's handler. Where the store may still find that the call was
 * made before, the handler of a call that changes nothing works meanwhile;
 * nothing of its answer is given away until the store has answered, and `end`
 * ends it early where it is not wanted.
 *
 * @throws what the handler throws, and what the store throws
 */
export async function answerOnce(
  { answer, late }: Admitted,
  { parts, end }: { readonly parts: RelayerParts; readonly end: () => void },
): Promise<{ readonly kind: "answer"; readonly answer: Answer } | Refused> {
  if (late === undefined) return { kind: "answer", answer: await answer() };
  const working = settle(async () => await answer());
  let refusal: Refusal | undefined;
  try {
    refusal = await late;
  } catch (error) {
    end();
    await working;
    throw error;
  }
  if (refusal !== undefined) {
    end();
    await working;
    return await refuse(refusal, parts);
  }
  const worked = await working;
  if (worked.kind === "failed") throw worked.error;
  return { kind: "answer", answer: worked.value };
}

async function readBytes({ request }: Arrival, maxBodyBytes: number) {
  return maxBodyBytes === 0
    ? { kind: "ok" as const, bytes: NO_BYTES }
    : await request.body(maxBodyBytes);
}

/**
 * Charges the points of a call; returns the answer when the caller is over a
 * limit. From here on the owner's share of the thread pays for the turn.
 */
function spend(
  { caller, body }: Omit<Entered, "kind">,
  { parts, route, turn }: AdmitOptions<SignedRoute | OwnerRoute>,
): Answer | undefined {
  turn.moveTo(caller.owner);
  return rateAnswer(caller, { parts, route, body });
}

/**
 * Charges points for bytes that were read or answered: one for each whole
 * `pointBytes`, on top of the points of the route. The total may go over the
 * limit; then the next calls wait.
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

/**
 * Passes on the key-server session that a client sends in `x-seal-session`. An
 * invalid session refuses nothing here: most requests need none, and routes
 * that need one answer with an error of their own.
 */
async function takeSession(
  { request }: Arrival,
  { parts: { sessions, logger }, caller }: {
    readonly parts: RelayerParts;
    readonly caller: Caller;
  },
): Promise<void> {
  const header = sessions && request.headers.get("x-seal-session");
  if (sessions === undefined || header === undefined) return;
  const address = addressOfPublicKey(caller.publicKey);
  const outcome = await sessions.take(caller.owner, header, { address });
  if (outcome.kind === "ok") return;
  logger.debug("Cannot accept a session", { reason: outcome.reason });
}

function refusedWith(answer: Answer): Refused {
  return { kind: "refused", response: renderAnswer(answer) };
}

/**
 * Admits a call by its signature, or by an access token where it has no
 * signature. With one, the field `Authorization` may be for a proxy.
 */
async function enterAccount(
  arrival: Arrival,
  options: AdmitOptions<SignedRoute>,
): Promise<Entered | Refused> {
  const { headers } = arrival.request;
  const token = headers.get("x-signature") === undefined
    ? readBearer(headers)
    : undefined;
  return token === undefined
    ? await checkSignature(arrival, options)
    : await checkToken(arrival, { ...options, token });
}

/** Verifies an access token, before the body is read. */
async function checkToken(
  arrival: Arrival,
  { token, ...options }: AdmitOptions<SignedRoute | OwnerRoute> & {
    readonly token: string;
  },
): Promise<Entered | Refused> {
  const { parts, route } = options;
  const outcome = await parts.accessTokens.verify(token);
  if (outcome.kind === "refused") return await refuse(outcome, parts);
  const { caller } = outcome;
  const refusal = ruleRefusal(caller, {
    rule: route.token,
    isBehindKeyServers: parts.sessions !== undefined,
  });
  if (refusal !== undefined) return refusedWith(refusal);
  const { maxBodyBytes = 0 } = route;
  const read = await readBytes(arrival, maxBodyBytes);
  if (read.kind !== "ok") return refusedWith(noBody(read, maxBodyBytes));
  const entered = { caller, body: read.bytes };
  const limited = spend(entered, options);
  return limited === undefined
    ? { kind: "entered", ...entered }
    : refusedWith(limited);
}

async function checkSignature(
  arrival: Arrival,
  options: AdmitOptions<SignedRoute | OwnerRoute>,
): Promise<Entered | Refused> {
  const { parts, route } = options;
  const { request } = arrival;
  const { method, target, headers } = request;
  const { maxBodyBytes = 0, onlyReads } = route;
  let limited: Answer | undefined;
  const outcome = await parts.authenticator.authenticate({
    method,
    target,
    headers,
    onlyReads,
    maxBodyBytes,
    body: (maxBytes) => request.body(maxBytes),
    takes(caller, body) {
      limited = spend({ caller, body }, options);
      return limited === undefined;
    },
  });
  if (limited !== undefined) return refusedWith(limited);
  switch (outcome.kind) {
    case "ok": {
      // A session outlives the request that brings it.
      const hasEffect = parts.sessions !== undefined &&
        headers.get("x-seal-session") !== undefined;
      const found = hasEffect ? await outcome.late : undefined;
      return found === undefined
        ? { ...outcome, kind: "entered" }
        : await refuse(found, parts);
    }
    case "not_taken":
      throw new TypeError("Cannot answer: the request has no limit");
    case "no_body":
      return refusedWith(noBody(outcome.body, maxBodyBytes));
    case "refused":
      return await refuse(outcome, parts);
  }
}

async function refuse(
  refusal: Refusal,
  { logger, refusalDelay }: RelayerParts,
): Promise<Refused> {
  const { code, reason } = refusal;
  if (reason !== undefined) {
    logger.warn("Cannot accept request", { code, reason });
  }
  await refusalDelay.wait();
  return { kind: "refused", response: refusalResponse(refusal) };
}

/**
 * Admits a call to an owner's route by its owner token or access token, or by
 * its signature when it has no token.
 */
async function enterOwner(
  arrival: Arrival,
  options: AdmitOptions<OwnerRoute>,
): Promise<Entered | Refused> {
  const { parts } = options;
  const { headers } = arrival.request;
  if (headers.get("authorization") === undefined) {
    return await checkSignature(arrival, options);
  }
  const token = readBearer(headers);
  if (token !== undefined && isAccessToken(token)) {
    return await checkToken(arrival, { ...options, token });
  }
  const owner = parts.ownerTokens?.findBearer(headers);
  if (owner !== undefined) {
    const entered = { caller: bearerCaller(owner), body: NO_BYTES };
    const limited = spend(entered, options);
    if (limited !== undefined) return refusedWith(limited);
    return { kind: "entered", ...entered };
  }
  await parts.refusalDelay.wait();
  const fields = { "x-auth-error": "ERR_OWNER_TOKEN" };
  return refusedWith({ status: 401, headers: fields });
}

/**
 * Makes the caller that stands for a token's bearer: bearers have points of
 * their own, counted by owner.
 */
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
  const outcome = parts.rateLimits.take(caller, route.points ?? 1);
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
