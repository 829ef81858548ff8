/**
 * The signup route, which creates a tenant, and how many one address may create.
 *
 * @module
 */

import { addressGroup } from "../../../shared/ip_network.ts";
import { readWhole } from "../../../shared/schema/schema.ts";
import { TokenBuckets } from "../../../shared/token_buckets.ts";
import {
  isOperatorToken,
  parseAuthorization,
  parseBearer,
} from "../../access/authorization.ts";
import type { JwtVerifier } from "../../access/jwt.ts";
import { type Answer, getStatus } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import { email } from "../users/user_fields.ts";
import { createTenant, type NewOwner } from "./create_tenant.ts";
import { MADE_TENANT, SIGNUP } from "./tenant_fields.ts";

/** Most addresses that are remembered. */
const MAX_ADDRESSES = 50_000;

/** Verifies tokens of the identity provider. */
export type TokenVerifier = Pick<JwtVerifier, "verify">;

/** Whether the caller may create a tenant, and who will own it. */
type Admitted =
  | {
    readonly kind: "ok";
    readonly owner: NewOwner;
    /** Whether the tenant counts against the limit of the address. */
    readonly isCounted: boolean;
  }
  | ProblemAnswer;

const BY_KEY = { kind: "ok", owner: { kind: "key" } } as const;

/**
 * The route that creates tenants. People become owners by tokens of the
 * identity provider; without a verifier, such tokens are refused.
 */
export function signupRoute(
  parts: ApiParts,
  tokens?: TokenVerifier,
): AnyRoute {
  const { perHour, liveInstances = () => 1 } = parts.accounts;
  // Each instance counts by itself, so each gives its share: what it admits
  // costs as many tokens as there are instances. One in an hour stays possible.
  const cost = (): number => Math.max(1, Math.min(perHour, liveInstances()));
  const rate = new TokenBuckets({
    perPeriod: perHour,
    periodMs: 3_600_000,
    maxNames: MAX_ADDRESSES,
  });
  return defineRoute({
    method: "POST",
    path: "/",
    hosts: "accounts",
    operationId: "createTenant",
    summary: "Create a tenant",
    description: "Depending on the setting ACCOUNTS_MODE this is open to " +
      "everybody, to who has the accounts token as bearer token, or to the " +
      "operator alone, who has a route of their own. Where an accounts token " +
      "is asked for and none is set, the answer is 403. Where it is open, a " +
      "person with a token of the identity provider becomes the owner; " +
      "everybody else gets a key once. A domain that was deleted stays " +
      "reserved for 30 days.",
    tags: ["accounts"],
    // A setting, which the handler checks, lets the public sign up.
    access: { kind: "public" },
    body: requiredBody(SIGNUP, { maxBytes: () => 4_096 }),
    answers: {
      201: {
        description: "The tenant, with the key of its owner",
        shape: MADE_TENANT,
        headers: {
          Location: "Where the tenant is",
          ETag: "The entity tag of this version",
        },
      },
    },
    isIdempotent: true,
    problems: [
      "domain_taken",
      "forbidden",
      "missing_credentials",
      "invalid_credentials",
      "token_expired",
      "bad_header",
    ],
    handle: async (call): Promise<Answer> => {
      const admitted = await admit(call, parts, tokens);
      if (admitted.kind === "problem") return admitted;
      const { peer, nowMs, body } = call;
      // An IPv6 address counts as its /64.
      const address = addressGroup(peer);
      const taken = cost();
      if (admitted.isCounted) {
        const waitMs = rate.take(address, nowMs, taken);
        if (waitMs > 0) return tooMany(perHour, waitMs);
      }
      let isMade = false;
      try {
        const answer = await createTenant(call, {
          domain: body.domain,
          owner: admitted.owner,
        }, parts);
        isMade = getStatus(answer) === 201;
        return answer;
      } finally {
        if (admitted.isCounted && !isMade) {
          rate.takeMore(address, -taken, nowMs);
        }
      }
    },
  });
}

async function admit(
  call: Pick<CallContext, "header">,
  { accounts }: ApiParts,
  tokens: TokenVerifier | undefined,
): Promise<Admitted> {
  const { mode, tokenDigests } = accounts;
  if (mode === "closed") {
    return problem("forbidden", {
      detail: "Cannot create tenant: only the operator may do this here",
    });
  }
  if (mode === "token" && tokenDigests.length === 0) {
    return problem("forbidden", {
      detail: "Cannot create tenant: this service has no accounts token; who " +
        "runs it sets ACCOUNTS_TOKEN",
    });
  }
  const header = call.header("authorization");
  const bearer = parseBearer(header);
  if (bearer.kind === "malformed") {
    return problem(bearer.code, { detail: bearer.reason });
  }
  if (bearer.kind === "missing") {
    return mode === "open" ? { ...BY_KEY, isCounted: true } : problem(
      "missing_credentials",
      {
        detail: "Cannot create tenant: send the accounts token as " +
          '"Authorization: Bearer <token>"',
      },
    );
  }
  if (isOperatorToken(bearer.token, tokenDigests)) {
    return { ...BY_KEY, isCounted: false };
  }
  const parsed = parseAuthorization(header);
  if (mode !== "open" || tokens === undefined || parsed.kind !== "jwt") {
    return problem("invalid_credentials", {
      detail: "Cannot accept the token: it does not allow to create tenants",
    });
  }
  return await admitPerson(parsed.token, tokens);
}

async function admitPerson(
  token: string,
  tokens: TokenVerifier,
): Promise<Admitted> {
  const outcome = await tokens.verify(token);
  if (outcome.kind === "refused") {
    return problem(outcome.code, { detail: outcome.reason });
  }
  if (outcome.kind === "unavailable") {
    return problem("overloaded", {
      detail: "Cannot authenticate: the identity provider is unreachable",
      retryAfterMs: outcome.retryAfterMs,
    });
  }
  const { subject } = outcome;
  const address = readWhole(email(), subject.verifiedEmail ?? null);
  if (address.kind !== "ok") {
    return problem("forbidden", {
      detail: "Cannot create tenant: the token has no verified email address " +
        "in ASCII",
    });
  }
  return {
    kind: "ok",
    owner: { kind: "user", subject, email: address.value },
    isCounted: true,
  };
}

function tooMany(perHour: number, retryAfterMs: number): ProblemAnswer {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return problem("rate_limited", {
    detail: `Cannot create tenant: an address may make ${perHour} in an hour`,
    retryAfterMs,
    extensions: { limit: perHour },
    headers: {
      "ratelimit-policy": `"signups";q=${perHour};w=3600`,
      "ratelimit": `"signups";r=0;t=${seconds}`,
    },
  });
}
