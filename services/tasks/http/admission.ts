/**
 * Admission of requests: authenticates the caller, checks that the caller may
 * use the route, and tells which tenant's turn the request takes.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { FairKey } from "../../shared/fair_queue.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { addressGroup } from "../../shared/ip_network.ts";
import type {
  AuthenticationOutcome,
  AuthenticationRequest,
  Authenticator,
} from "../access/authenticator.ts";
import {
  isOperatorSession,
  isOperatorToken,
  parseBearer,
} from "../access/authorization.ts";
import { type Caller, mayLease, scopeLackedBy } from "../access/caller.ts";
import { readSessionCookie } from "../access/session_cookie.ts";
import type { Role, Scope } from "../access/scope.ts";
import type { Tenant } from "../domain/records.ts";
import {
  type LeaseHolder,
  leaseHolder,
  type Leases,
} from "../engine/leases.ts";
import { REGISTRY } from "../engine/repositories.ts";
import type { Sessions } from "../engine/sessions.ts";
import type { Store } from "../store/store.ts";
import type { Incoming } from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** What a route requires of its callers. */
export type Access =
  /** Every client may call the route. */
  | { readonly kind: "public" }
  /**
   * Pages of the console: every client may call the route, and the caller is
   * that of the session whose cookie was sent.
   */
  | { readonly kind: "session" }
  /** Every user or key of the tenant, whatever it may do. */
  | { readonly kind: "caller" }
  /** A user or key of the tenant that has a scope. */
  | {
    readonly kind: "member";
    /** The least role that implies the scope. */
    readonly role: Role;
    /** The scope a caller needs. */
    readonly scope: Scope;
  }
  /**
   * Needs the worker's credential, or a user or key that may lease its tasks.
   */
  | { readonly kind: "worker" }
  /** Needs the token of the lease that the path names. */
  | { readonly kind: "lease" }
  /** Needs the token of the operator, who runs the service. */
  | { readonly kind: "operator" };

/** The caller of a request, or why the request is refused. */
export type Admission =
  | {
    readonly kind: "ok";
    /** The caller; absent on public routes, and for holders of leases. */
    readonly caller: Caller | undefined;
    /** The lease whose token was sent, on the routes of a lease alone. */
    readonly lease?: ClaimedLease;
  }
  | ProblemAnswer;

/** Where leases and their tasks are looked up. */
interface LeaseSource {
  /** Knows the leases that are held right now. */
  readonly leases: Pick<Leases, "isHeldBy">;
  /** The store, which knows leases that have ended by their tasks. */
  readonly parts: { readonly store: Pick<Store, "task"> };
}

/**
 * Reads the lease's token from the request. The answer is a claim that the
 * route still has to check, or a problem when there is no usable token.
 */
function admitHolder(
  { request, tenant }: Incoming,
  { leaseId, source }: {
    readonly leaseId: string;
    readonly source: LeaseSource;
  },
): Admission {
  if (tenant === undefined) {
    throw new TypeError("Cannot find the lease: there is no tenant");
  }
  const bearer = parseBearer(request.headers.all("authorization"));
  if (bearer.kind === "missing") {
    return problem("missing_credentials", {
      detail:
        'Cannot authenticate: missing lease token; send "Authorization: ' +
        "Bearer <the lease's token>\"",
    });
  }
  if (bearer.kind === "malformed") {
    return problem(bearer.code, { detail: bearer.reason });
  }
  const { token } = bearer;
  const holder = leaseHolder({ tenantId: tenant.id, leaseId, token });
  const { taskId } = holder;
  if (taskId === undefined) return noSuchLease();
  return {
    kind: "ok",
    caller: undefined,
    lease: new ClaimedLease(holder, { taskId, source }),
  };
}

/** The problem of an id that no lease has. */
export function noSuchLease(): ProblemAnswer {
  return problem("not_found", {
    detail: "Cannot find lease: no lease has this id",
  });
}

/**
 * The problem of a lease whose task is not there. Whether it was removed or
 * never existed is no longer known, and its worker should stop.
 */
export function leaseOfNoTask(): ProblemAnswer {
  return problem("lease_gone", {
    detail: "Cannot continue lease: its task does not exist, or no longer",
    extensions: { canceled: true },
  });
}

/**
 * A lease that a caller claims to hold. Its route checks the claim with the
 * task.
 */
export class ClaimedLease {
  /** The lease, and the hash of the token that was sent for it. */
  readonly holder: LeaseHolder;
  readonly #taskId: string;
  readonly #source: LeaseSource;

  /** A claim that was not checked yet. */
  constructor(
    holder: LeaseHolder,
    { taskId, source }: {
      readonly taskId: string;
      readonly source: LeaseSource;
    },
  ) {
    this.holder = holder;
    this.#taskId = taskId;
    this.#source = source;
  }

  /**
   * Whether the lease is known to be held by the sender. A lease that is not
   * known may still be held: see {@linkcode refusal}.
   */
  isKnown(): boolean {
    return this.#source.leases.isHeldBy(this.holder);
  }

  /**
   * Checks the claim with the stored task; undefined when the lease is the
   * sender's.
   *
   * @throws {Error} when the store cannot be read
   */
  async refusal(): Promise<ProblemAnswer | undefined> {
    const { tenantId, leaseId, tokenHash } = this.holder;
    const { store } = this.#source.parts;
    const task = await store.task(tenantId, this.#taskId);
    if (task === undefined) return leaseOfNoTask();
    // A report may be repeated after the attempt has ended. Its route judges
    // that.
    const isHeld = [task.attempt, task.settled].some((held) =>
      held?.id === leaseId && held.tokenHash === tokenHash
    );
    return isHeld ? undefined : problem("lease_gone", {
      detail: "Cannot continue lease: it is not the task's lease, or no longer",
      extensions: { canceled: false },
    });
  }
}

/** What is needed to authenticate callers. */
export interface AdmitOptions {
  /** Digests of the operator's tokens. */
  readonly operatorDigests: readonly string[];
  /** Authenticates the callers of a tenant. */
  readonly authenticator: Authenticator;
  /**
   * Knows the sessions of the console.
   * @default there are none
   */
  readonly sessions?: Pick<Sessions, "find" | "recall"> | undefined;
  /** Knows who holds leases. */
  readonly leaseSource: LeaseSource;
}

/** What a route asks of its callers. */
interface Gate {
  /** Who may call it. */
  readonly access: Access;
  /** The values of its path's parameters. */
  readonly params: Readonly<Record<string, string>>;
}

const PUBLIC: Admission = { kind: "ok", caller: undefined };
/** The name under which the operator's requests take turns. */
const OPERATOR = "operator";

/**
 * Admits one request to its route: tells whose turn the request takes, and who
 * calls.
 */
export class RequestGate {
  readonly #incoming: Incoming;
  readonly #gate: Gate;
  readonly #options: AdmitOptions;
  /**
   * The outcome for a lease's or the operator's token, which is checked once.
   */
  #judged: Admission | undefined;

  /** No token or credential is checked yet. */
  constructor(
    incoming: Incoming,
    { gate, options }: {
      readonly gate: Gate;
      readonly options: AdmitOptions;
    },
  ) {
    this.#incoming = incoming;
    this.#gate = gate;
    this.#options = options;
  }

  /**
   * Whose turn the request takes before its caller is known: that of the tenant
   * if its credential is remembered as a valid one, and that of strangers
   * otherwise, so that wrong credentials take no time of the tenant.
   */
  payer(): FairKey {
    const { tenant, origin } = this.#incoming;
    const stranger = strangerAt(origin.clientAddress);
    switch (this.#gate.access.kind) {
      case "public":
        return stranger;
      case "session": {
        const owner = this.#sessionOwner();
        const isRecalled = owner !== undefined &&
          this.#options.sessions?.recall(owner, this.#cookie()) === true;
        return isRecalled ? tenant?.id ?? OPERATOR : stranger;
      }
      case "operator":
        return this.#judge().kind === "ok" ? OPERATOR : stranger;
      case "lease":
        return payerAfter(this.#incoming, this.#judge()) ?? stranger;
      case "caller":
      case "member":
      case "worker": {
        const isRecalled = tenant !== undefined &&
          this.#options.authenticator.recalls(this.#presented(tenant));
        return isRecalled ? tenant.id : stranger;
      }
    }
  }

  /**
   * Authenticates the caller and checks that the caller may use the route.
   *
   * @returns A value at once where nothing has to be looked up, otherwise a
   * promise.
   */
  admit(): MaybePromise<Admission> {
    switch (this.#gate.access.kind) {
      case "public":
        return PUBLIC;
      case "session":
        return this.#ofSession();
      case "operator":
      case "lease":
        return this.#judge();
      case "caller":
      case "member":
      case "worker": {
        const { tenant } = this.#incoming;
        if (tenant === undefined) {
          throw new TypeError("Cannot authenticate: the host is no tenant's");
        }
        return authenticate(this.#presented(tenant), {
          gate: this.#gate,
          authenticator: this.#options.authenticator,
        });
      }
    }
  }

  /**
   * Makes a function that admits the caller again, for routes whose answers
   * outlive the request. It keeps nothing of the request but its credential.
   */
  readmission(): () => MaybePromise<Admission> {
    const { kind } = this.#gate.access;
    const { tenant, request: { headers }, origin } = this.#incoming;
    const hasToken = kind === "caller" || kind === "member" ||
      kind === "worker";
    if (!hasToken || tenant === undefined) return () => this.admit();
    const { clientAddress } = origin;
    // A caller who sent several was not admitted.
    const authorization = ownText(headers.get("authorization") ?? "");
    return readmission({ authorization, tenant, clientAddress }, {
      gate: this.#gate,
      authenticator: this.#options.authenticator,
    });
  }

  /** Admits a session, or a client without one, which pages have to expect. */
  #ofSession(): MaybePromise<Admission> {
    const { origin: { clientAddress } } = this.#incoming;
    const { sessions, authenticator, operatorDigests } = this.#options;
    const owner = this.#sessionOwner();
    const cookie = this.#cookie();
    if (owner === undefined || cookie === undefined) return PUBLIC;
    return andThen(
      sessions?.find(owner, cookie),
      (session) => {
        if (session === undefined) return PUBLIC;
        const { kind, id } = session.credential;
        if (kind === "operator") {
          return isOperatorSession(id, operatorDigests)
            ? { kind: "ok", caller: { kind: "operator" } }
            : PUBLIC;
        }
        return andThen(
          authenticator.ofSession(session, clientAddress),
          (caller): Admission => ({ kind: "ok", caller }),
        );
      },
    );
  }

  /** Whose sessions the host has: the tenant's, or the operator's. */
  #sessionOwner(): string | undefined {
    const { tenant, host } = this.#incoming;
    return host === "accounts_admin" ? REGISTRY : tenant?.id;
  }

  #cookie(): string | undefined {
    const { request: { headers }, origin: { scheme } } = this.#incoming;
    return readSessionCookie(headers.get("cookie"), scheme);
  }

  #presented(tenant: Tenant): AuthenticationRequest {
    const { request: { headers }, origin } = this.#incoming;
    return {
      authorization: headers.all("authorization"),
      head: headers,
      tenant,
      clientAddress: origin.clientAddress,
    };
  }

  /**
   * Checks the token of the operator or of a lease; the outcome is remembered.
   */
  #judge(): Admission {
    return this.#judged ??= this.#gate.access.kind === "lease"
      ? admitHolder(this.#incoming, {
        leaseId: this.#gate.params["id"] ?? "",
        source: this.#options.leaseSource,
      })
      : admitOperator(this.#incoming, this.#options.operatorDigests);
  }
}

/** What decides about a credential. */
interface Judge {
  readonly gate: Gate;
  readonly authenticator: Authenticator;
}

function authenticate(
  presented: AuthenticationRequest,
  { gate, authenticator }: Judge,
): MaybePromise<Admission> {
  return andThen(
    authenticator.authenticate(presented),
    (outcome) => toAdmission(outcome, gate),
  );
}

/** A function of its own, as it keeps all that is around it. */
function readmission(
  presented: AuthenticationRequest,
  { gate, authenticator }: Judge,
): () => MaybePromise<Admission> {
  return () => authenticate(presented, { gate, authenticator });
}

/** A copy of text that is a part of a longer one, which the part would keep. */
function ownText(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

function admitOperator(
  { request: { headers } }: Incoming,
  operatorDigests: readonly string[],
): Admission {
  const bearer = parseBearer(headers.all("authorization"));
  return bearer.kind === "ok" && isOperatorToken(bearer.token, operatorDigests)
    ? { kind: "ok", caller: { kind: "operator" } }
    : problem("invalid_credentials", {
      detail: "Cannot accept the token: it is not the operator's",
    });
}

function toAdmission(
  outcome: AuthenticationOutcome,
  gate: Gate,
): Admission {
  switch (outcome.kind) {
    case "refused":
      return problem(outcome.code, { detail: outcome.reason });
    case "unavailable":
      return problem("overloaded", {
        detail: "Cannot authenticate: the identity provider is unreachable",
        retryAfterMs: outcome.retryAfterMs,
      });
    case "ok":
      return deny(outcome.caller, gate) ?? outcome;
  }
}

/** Why a caller may not use a route; undefined when it may. */
export function deny(
  caller: Caller,
  { access, params }: Gate,
): ProblemAnswer | undefined {
  if (access.kind === "worker") {
    // The id in the path may also be the worker's name, so the route compares
    // the worker itself.
    const isWorker = caller.kind === "worker" ||
      mayLease(caller, params["id"] ?? "");
    return isWorker ? undefined : lacking("leases:write");
  }
  if (access.kind === "caller") {
    return caller.kind === "worker" ? problem("forbidden") : undefined;
  }
  if (access.kind !== "member") return undefined;
  const scope = scopeLackedBy(caller, access.scope);
  return scope === undefined ? undefined : lacking(scope);
}

function lacking(scope: string): ProblemAnswer {
  return problem("forbidden", {
    detail: `Cannot continue: missing scope "${scope}"`,
    extensions: { scope },
  });
}

/** Unauthenticated callers by address; all together count as one tenant. */
export function strangerAt(address: string | undefined): FairKey {
  return { group: "strangers", member: addressGroup(address ?? "") };
}

/**
 * The tenant whose turn the rest of the request takes, now that its sender is
 * known; undefined when the sender is not of the tenant.
 */
export function payerAfter(
  { tenant }: Pick<Incoming, "tenant">,
  admission: Admission,
): FairKey | undefined {
  return isOfTenant(admission) ? tenant?.id : undefined;
}

/**
 * Whether a request is known to come from a user, key, worker or lease holder
 * of the tenant.
 */
export function isOfTenant(admission: Admission): boolean {
  return admission.kind === "ok" &&
    (admission.caller !== undefined || admission.lease?.isKnown() === true);
}
