/**
 * Who calls, and whether they may.
 *
 * @module
 */

import { type Soon, soon } from "../../shared/settled.ts";
import type {
  AuthenticationOutcome,
  Authenticator,
} from "../access/authenticator.ts";
import { isOperatorToken, parseBearer } from "../access/authorization.ts";
import { type Caller, mayLease, scopeLackedBy } from "../access/caller.ts";
import { admitHolder, type LeaseSource } from "./claimed_lease.ts";
import type { Access } from "./access_rule.ts";
import type { Admission } from "./admission.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { Incoming } from "./locate.ts";

/** What is needed to tell who calls. */
export interface AdmitOptions {
  /** Digests of the operator's tokens. */
  readonly operatorDigests: readonly string[];
  /** Tells who calls a tenant. */
  readonly authenticator: Authenticator;
  /** Knows who holds leases. */
  readonly leaseSource: LeaseSource;
}

/** What a route asks of its callers. */
export interface Gate {
  /** Who may call it. */
  readonly access: Access;
  /** The values of its path's parameters. */
  readonly params: Readonly<Record<string, string>>;
}

const ANYBODY: Admission = { kind: "ok", caller: undefined };

/**
 * Tells who calls, and whether they may.
 *
 * @returns A value at once where everything is at hand.
 */
export function admit(
  incoming: Incoming,
  options: AdmitOptions & Gate,
): Soon<Admission> {
  const { access, params, operatorDigests, authenticator } = options;
  const { headers } = incoming.request;
  // What the accounts ask for is checked there.
  if (access.kind === "public") return ANYBODY;
  if (access.kind === "lease") {
    return admitHolder(incoming, {
      leaseId: params["id"] ?? "",
      source: options.leaseSource,
    });
  }
  if (access.kind === "operator") {
    const bearer = parseBearer(headers.all("authorization"));
    return bearer.kind === "ok" &&
        isOperatorToken(bearer.token, operatorDigests)
      ? { kind: "ok", caller: { kind: "operator" } }
      : problem("invalid_credentials", {
        detail: "Cannot accept the token: it is not the operator's",
      });
  }
  const { tenant, origin } = incoming;
  if (tenant === undefined) {
    throw new TypeError("Cannot tell who calls: the host is no tenant's");
  }
  return soon(
    authenticator.authenticate({
      authorization: headers.all("authorization"),
      head: headers,
      tenant,
      clientAddress: origin.clientAddress,
    }),
    (outcome) => admissionOf(outcome, { access, params }),
  );
}

function admissionOf(
  outcome: AuthenticationOutcome,
  gate: Gate,
): Admission {
  switch (outcome.kind) {
    case "refused":
      return problem(outcome.code, { detail: outcome.reason });
    case "unavailable":
      return problem("overloaded", {
        detail: "Cannot tell who calls: the identity provider cannot be " +
          "reached",
        retryAfterMs: outcome.retryAfterMs,
      });
    case "ok":
      return deny(outcome.caller, gate) ?? outcome;
  }
}

/** Why a caller may not use a route; undefined when it may. */
function deny(
  caller: Caller,
  { access, params }: Gate,
): ProblemAnswer | undefined {
  if (access.kind === "worker") {
    // The route compares the worker itself, which may be named by its name.
    const isWorker = caller.kind === "worker" ||
      mayLease(caller, params["id"] ?? "");
    return isWorker ? undefined : lacking("leases:write");
  }
  if (access.kind !== "member") return undefined;
  const scope = scopeLackedBy(caller, access.scope);
  return scope === undefined ? undefined : lacking(scope);
}

function lacking(scope: string): ProblemAnswer {
  return problem("forbidden", {
    detail: `Cannot go on: the scope "${scope}" is missing`,
    extensions: { scope },
  });
}
