/**
 * Whose turn a request takes, before it is known who sent it.
 *
 * @module
 */

import type { FairKey } from "../../shared/fair_queue.ts";
import { addressGroup } from "../../shared/ip_network.ts";
import type { Authenticator } from "../access/authenticator.ts";
import { isOperatorToken, parseBearer } from "../access/authorization.ts";
import { admitHolder, type LeaseSource } from "./claimed_lease.ts";
import type { Admission } from "./admission.ts";
import type { AnyRoute } from "./route.ts";
import type { Incoming } from "./locate.ts";

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
