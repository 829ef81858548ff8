/**
 * Refusing the requests that are more than a plan allows.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { addressGroup } from "../../shared/ip_network.ts";
import type { Caller } from "../access/caller.ts";
import type { Admission } from "./admission.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { Incoming } from "./locate.ts";
import { isOfTenant } from "./payer.ts";
import { RequestRate } from "./request_rate.ts";

/** What requests are counted with. */
export interface RequestRatesOptions {
  /** The time. */
  readonly clock: Clock;
  /** Hears of those that are refused. */
  readonly logger: Logger;
}

/**
 * Counts the requests of tenants, as many a second as their plans allow. What
 * strangers ask of a tenant is counted by their address and costs the tenant
 * nothing.
 */
export class RequestRates {
  readonly #options: RequestRatesOptions;
  readonly #tenants = new RequestRate();
  readonly #strangers = new RequestRate();

  /** Has counted nothing yet. */
  constructor(options: RequestRatesOptions) {
    this.#options = options;
  }

  /** The problem of a request that is one too many; undefined when it is not. */
  refusal(
    { tenant, limits, origin }: Incoming,
    admission: Admission,
  ): ProblemAnswer | undefined {
    const perSecond = limits?.requestsPerSecond;
    if (tenant === undefined || typeof perSecond !== "number") return undefined;
    const nowMs = this.#options.clock.nowMs();
    const address = origin.clientAddress ?? "";
    const isOwn = isOfTenant(admission);
    const verdict = isOwn
      ? this.#tenants.take(tenant.id, {
        perSecond,
        nowMs,
        part: partOf(admission),
      })
      // No id holds a line feed.
      : this.#strangers.take(`${tenant.id}\n${addressGroup(address)}`, {
        perSecond,
        nowMs,
      });
    if (verdict.kind === "ok") return undefined;
    const { retryAfterMs } = verdict;
    this.#options.logger.debug("Too many requests of a tenant", {
      tenant: tenant.id,
      client: address,
      admitted: isOwn,
    });
    const policy = isOwn ? "plan" : "address";
    return problem("rate_limited", {
      detail: isOwn
        ? `Cannot answer: the plan allows ${perSecond} requests a second`
        : `Cannot answer: ${perSecond} requests a second that show no valid ` +
          "credentials are answered from one address",
      retryAfterMs,
      headers: {
        "ratelimit-policy": `"${policy}";q=${perSecond};w=1`,
        "ratelimit": `"${policy}";r=0;t=${Math.ceil(retryAfterMs / 1_000)}`,
      },
    });
  }

  /**
   * Counts what a request of a tenant did as further ones, which have to be waited
   * for before the next. Whether it is the tenant's is to be asked before it is
   * answered: a lease that is over is known no longer.
   */
  charge(
    { tenant, limits }: Pick<Incoming, "tenant" | "limits">,
    admission: Admission,
    cost: RequestCost,
  ): void {
    const perSecond = limits?.requestsPerSecond;
    if (tenant === undefined || typeof perSecond !== "number") return;
    const further = furtherRequests(cost);
    if (further === 0) return;
    this.#tenants.charge(tenant.id, further, {
      perSecond,
      nowMs: this.#options.clock.nowMs(),
      part: partOf(admission),
    });
  }
}

/** What a request did beyond asking. */
export interface RequestCost {
  /** To how many tasks it did something. */
  readonly tasks: number;
  /** How long it held the thread that serves, in milliseconds. */
  readonly usedMs: number;
}

/** Tasks that count as one request. */
const TASKS_OF_REQUEST = 10;
/** Milliseconds that count as one request. */
const MS_OF_REQUEST = 10;

/** How many requests a request counts as beside itself. */
function furtherRequests({ tasks, usedMs }: RequestCost): number {
  const least = Math.ceil(tasks / TASKS_OF_REQUEST) - 1;
  return Math.max(0, least, Math.floor(usedMs / MS_OF_REQUEST));
}

/** The credential that a request came with; holders of leases have none. */
function partOf(admission: Admission): string | undefined {
  return admission.kind === "ok" ? credentialOf(admission.caller) : undefined;
}

function credentialOf(caller: Caller | undefined): string | undefined {
  switch (caller?.kind) {
    case "api_key":
      return caller.keyId;
    case "user":
      return caller.userId;
    case "worker":
      return caller.credentialId;
    default:
      return undefined;
  }
}
