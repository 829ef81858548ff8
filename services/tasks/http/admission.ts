/**
 * Who calls, whether they may, and whose turn their request takes.
 *
 * @module
 */

import type { FairKey } from "../../shared/fair_queue.ts";
import { type Soon, soon } from "../../shared/settled.ts";
import { addressGroup } from "../../shared/ip_network.ts";
import type {
  AuthenticationOutcome,
  Authenticator,
} from "../access/authenticator.ts";
import { isOperatorToken, parseBearer } from "../access/authorization.ts";
import { type Caller, mayLease, scopeLackedBy } from "../access/caller.ts";
import { taskOfLease } from "../engine/lease_id.ts";
import type { LeaseHolder, Leases } from "../engine/leases.ts";
import { sha256 } from "../store/digest.ts";
import type { Store } from "../store/store.ts";
import type { Incoming } from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { Access, AnyRoute } from "./route.ts";

/** Who calls, or why nobody is let in. */
export type Admission =
  | {
    readonly kind: "ok";
    /** Who calls; absent where anybody may, and for who holds a lease. */
    readonly caller: Caller | undefined;
    /** The lease whose token was sent, on the routes of a lease alone. */
    readonly lease?: ClaimedLease;
  }
  | ProblemAnswer;

/** A lease that somebody says to hold. Its own route judges that with the task. */
export interface ClaimedLease {
  /** Whether it is known to be theirs; what is not known may be theirs as well. */
  isKnown(): boolean;
  /**
   * Why it is not theirs, by the task as it is stored.
   *
   * @throws {Error} when the store cannot be read
   */
  refusal(): Promise<ProblemAnswer | undefined>;
}

/** Where leases are looked up. */
export interface LeaseSource {
  /** Knows what is under way. */
  readonly leases: Pick<Leases, "isHeldBy">;
  /** Knows the rest. */
  readonly parts: { readonly store: Pick<Store, "task"> };
}

/** Tells who says to hold the lease of a path, and refuses who cannot. */
function admitHolder(
  { request, tenant }: Incoming,
  { leaseId, source }: {
    readonly leaseId: string;
    readonly source: LeaseSource;
  },
): Admission {
  if (tenant === undefined) {
    throw new TypeError("Cannot tell whose lease it is: there is no tenant");
  }
  const bearer = parseBearer(request.headers.all("authorization"));
  if (bearer.kind === "missing") {
    return problem("missing_credentials", {
      detail: "Cannot tell whose lease it is: there is no Authorization " +
        'header, send "Authorization: Bearer <the lease\'s token>"',
    });
  }
  if (bearer.kind === "malformed") {
    return problem(bearer.code, { detail: bearer.reason });
  }
  const taskId = taskOfLease(leaseId);
  if (taskId === undefined) return noSuchLease();
  const { token } = bearer;
  const holder = { tenantId: tenant.id, leaseId, token };
  return {
    kind: "ok",
    caller: undefined,
    lease: new Claim(holder, { taskId, source }),
  };
}

/** The problem of what is no lease's id. */
export function noSuchLease(): ProblemAnswer {
  return problem("not_found", {
    detail: "Cannot find lease: there is none with this id",
  });
}

/**
 * The problem of a lease whose task is not there. Whether it was removed or
 * never was is not known any more, and whoever works on it is to stop.
 */
export function leaseOfNoTask(): ProblemAnswer {
  return problem("lease_gone", {
    detail: "Cannot go on with lease: its task is not there, or not any more",
    extensions: { canceled: true },
  });
}

class Claim implements ClaimedLease {
  readonly #holder: LeaseHolder;
  readonly #taskId: string;
  readonly #source: LeaseSource;

  constructor(
    holder: LeaseHolder,
    { taskId, source }: {
      readonly taskId: string;
      readonly source: LeaseSource;
    },
  ) {
    this.#holder = holder;
    this.#taskId = taskId;
    this.#source = source;
  }

  isKnown(): boolean {
    return this.#source.leases.isHeldBy(this.#holder);
  }

  async refusal(): Promise<ProblemAnswer | undefined> {
    const { tenantId, leaseId, token } = this.#holder;
    const { store } = this.#source.parts;
    const task = await store.task(tenantId, this.#taskId);
    if (task === undefined) return leaseOfNoTask();
    const tokenHash = sha256(token);
    // What has ended may be said again, which is for its route to judge.
    const isHeld = [task.attempt, task.settled].some((held) =>
      held?.id === leaseId && held.tokenHash === tokenHash
    );
    return isHeld ? undefined : problem("lease_gone", {
      detail: "Cannot go on with lease: it is not the task's lease, or not " +
        "any more",
      extensions: { canceled: false },
    });
  }
}

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

/** What is needed to tell whose turn a request takes. */
export interface PayerOptions {
  /** Digests of the operator's tokens. */
  readonly operatorDigests: readonly string[];
  /** Remembers who was let in. */
  readonly authenticator: Pick<Authenticator, "recalls">;
  /** Knows who holds leases. */
  readonly leaseSource: LeaseSource;
}

/** What of a route tells whose turn a request for it takes. */
export interface AskedRoute {
  /** The route. */
  readonly route: AnyRoute;
  /** The values of its path's parameters. */
  readonly params: Readonly<Record<string, string>>;
}

const OPERATOR = "operator";

/** Strangers by address; all of them together count as one tenant. */
export function strangerAt(address: string | undefined): FairKey {
  return { group: "strangers", member: addressGroup(address ?? "") };
}

/**
 * Whose turn a request takes: that of the tenant if its credential is remembered
 * as a good one, and that of strangers otherwise, so that wrong credentials take
 * no time of the tenant.
 */
export function payerOf(
  incoming: Incoming,
  { route, params }: AskedRoute,
  options: PayerOptions,
): FairKey {
  const { tenant, origin, request: { headers } } = incoming;
  const stranger = strangerAt(origin.clientAddress);
  switch (route.access.kind) {
    case "public":
      return stranger;
    case "operator": {
      const bearer = parseBearer(headers.all("authorization"));
      return bearer.kind === "ok" &&
          isOperatorToken(bearer.token, options.operatorDigests)
        ? OPERATOR
        : stranger;
    }
    case "lease": {
      const leaseId = params["id"] ?? "";
      const source = options.leaseSource;
      return payerAfter(incoming, admitHolder(incoming, { leaseId, source })) ??
        stranger;
    }
    case "member":
    case "worker": {
      const isRecalled = tenant !== undefined &&
        options.authenticator.recalls({
          authorization: headers.all("authorization"),
          head: headers,
          tenant,
          clientAddress: origin.clientAddress,
        });
      return isRecalled ? tenant.id : stranger;
    }
  }
}

/** Whose turn the rest of a request takes once it is known who sent it. */
export function payerAfter(
  { tenant }: Pick<Incoming, "tenant">,
  admission: Admission,
): FairKey | undefined {
  return isOfTenant(admission) ? tenant?.id : undefined;
}

/** Whether it is known that a request comes from somebody of the tenant. */
export function isOfTenant(admission: Admission): boolean {
  return admission.kind === "ok" &&
    (admission.caller !== undefined || admission.lease?.isKnown() === true);
}
