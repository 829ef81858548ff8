/**
 * Asks key servers for an owner's key, for which the owner's session and account
 * are needed.
 *
 * @module
 */

import { writeApproval } from "../../../sdk/vault/approval.ts";
import type { Logger } from "../../shared/logger.ts";
import { KEY_BYTES } from "./envelope.ts";
import type { KeyOpening } from "./key_opening.ts";
import type { OwnerSessions } from "./owner_sessions.ts";
import type { OpenFailure } from "./vault.ts";

/** The account on the ledger by which key servers decide who gets keys. */
interface OwnerAccount {
  /** The object id of the account. */
  readonly accountId: string;
  /** The version in which it became shared. */
  readonly initialVersion: bigint;
  /**
   * How often access was taken away from a delegate; undefined where the contract does
   * not count that.
   */
  readonly accessCounter: bigint | undefined;
}

/** The outcome of looking an owner's account up. */
export type OwnerAccountOutcome =
  | { readonly kind: "ok"; readonly account: OwnerAccount }
  | { readonly kind: "missing" }
  | { readonly kind: "unavailable" };

/** What asking key servers needs. */
export interface KeyServerParts {
  /** The package whose function decides who gets keys. */
  readonly packageId: string;
  /** Encrypts and opens keys; stopped with {@linkcode OwnerKeys}. */
  readonly opening: KeyOpening;
  /** Finds an owner's account. */
  readonly findAccount: (owner: string) => Promise<OwnerAccountOutcome>;
  /** Logs keys that cannot be opened or stored. */
  readonly logger: Logger;
}

/** Options of {@linkcode askKeyServers}. */
interface AskOptions extends KeyServerParts {
  /** The owner's key, encrypted for the key servers. */
  readonly encrypted: Uint8Array;
  /** The identity that it is encrypted for. */
  readonly identity: Uint8Array;
  /** The sessions that speak for owners. */
  readonly sessions: OwnerSessions;
}

/**
 * Opens a key with the key servers; returns its private half, or the failure.
 */
export async function askKeyServers(
  owner: string,
  options: AskOptions,
): Promise<Uint8Array | OpenFailure> {
  const { packageId, opening, findAccount, logger, sessions } = options;
  const { encrypted, identity: id } = options;
  if (sessions.of(owner) === undefined) return "session_required";
  const found = await findAccount(owner);
  if (found.kind === "unavailable") return "unavailable";
  if (found.kind === "missing") return "refused";
  // Read again: a newer session may have come, which overwrites the earlier
  // one.
  const entry = sessions.of(owner);
  if (entry === undefined) return "session_required";
  const { accountId: objectId, initialVersion } = found.account;
  const name = id.toHex();
  const outcome = await opening.open({
    ...{ encrypted, packageId, id },
    session: entry.session.export(),
    approval: writeApproval({
      packageId,
      account: { objectId, initialVersion },
      ids: [id],
    }),
    userKeys: entry.userKeys.get(name),
  });
  switch (outcome.kind) {
    case "ok": {
      entry.userKeys.set(name, outcome.userKeys);
      return outcome.data.length === KEY_BYTES ? outcome.data : "damaged";
    }
    case "damaged":
      logger.warn("Cannot open an owner's key", { reason: outcome.reason });
      return "damaged";
    case "refused":
    case "unavailable":
      logger.warn(
        "Cannot open an owner's key: too few key servers return keys",
        {
          outcome: outcome.kind,
          failures: outcome.failures.map(({ objectId, reason }) =>
            `${objectId}: ${reason}`
          ).join("; "),
        },
      );
      return outcome.kind === "refused" ? "refused" : "key_servers_away";
  }
}
