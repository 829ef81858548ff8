/**
 * Who says to hold a lease, as far as that is told before the body is read.
 *
 * @module
 */

import { parseBearer } from "../access/authorization.ts";
import { sha256 } from "../store/digest.ts";
import { taskOfLease } from "../engine/lease_id.ts";
import type { LeaseHolder, Leases } from "../engine/leases.ts";
import type { Store } from "../store/store.ts";
import type { Admission, ClaimedLease } from "./admission.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { Incoming } from "./locate.ts";

/** Where leases are looked up. */
export interface LeaseSource {
  /** Knows what is under way. */
  readonly leases: Pick<Leases, "isHeldBy">;
  /** Knows the rest. */
  readonly parts: { readonly store: Pick<Store, "task"> };
}

/** Tells who says to hold the lease of a path, and refuses who cannot. */
export function admitHolder(
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
