/**
 * What clients are shown of accounts.
 *
 * @module
 */

import type { Caller } from "../auth/authenticate.ts";
import type { Account } from "./ledger.ts";

/** Who a signed request is from, as `GET /api/whoami` tells. */
export interface WhoAmIView {
  /** The account's id. */
  readonly account_id: string;
  /** The owner's address. */
  readonly owner: string;
  /** The package whose module the account is of. */
  readonly package_id: string;
}

/** Keys of an account, as `GET /v1/owners/{owner}/agents` tells. */
export interface AgentsView {
  /** The keys. */
  readonly agents: readonly {
    /** What the owner calls it. */
    readonly label: string;
    /** Its address. */
    readonly sui_address: string;
  }[];
  /** The version of the listings. */
  readonly snapshot_version: number;
}

/** The version of the listings' contract. */
export const SNAPSHOT_VERSION = 2;

/** Shows a caller who it is. */
export function viewWhoAmI(caller: Caller, packageId: string): WhoAmIView {
  const { accountId, owner } = caller;
  return { account_id: accountId, owner, package_id: packageId };
}

/** Shows the keys of an account; none when there is no account. */
export function viewAgents(account: Account | undefined): AgentsView {
  const keys = account?.delegateKeys ?? [];
  return {
    agents: keys.map(({ label, address }) => ({ label, sui_address: address })),
    snapshot_version: SNAPSHOT_VERSION,
  };
}
