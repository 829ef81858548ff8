/**
 * Opens the vault as the settings say: with keys of the data folder, or behind
 * key servers.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { type MasterKey, parseMasterKeys } from "../shared/master_keys.ts";
import {
  resolveKeyServerThreshold,
  type ToldKeyServer,
} from "./ledger/key_server_input.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RelayerSettings } from "./settings.ts";
import type { OpenKeyRows } from "./vault/key_rows.ts";
import { KeyThread } from "./vault/key_thread.ts";
import { LocalVault } from "./vault/local_vault.ts";
import type { OwnerAccountOutcome } from "./vault/owner_key_request.ts";
import { OwnerKeys } from "./vault/owner_keys.ts";
import type { OwnerSessions } from "./vault/owner_sessions.ts";
import { ThresholdVault } from "./vault/threshold_vault.ts";
import type { RelayerVault } from "./vault/vault.ts";

/** Parts that opening needs. */
interface OpenVaultTools {
  /** Reads the accounts. */
  readonly ledger: Ledger;
  /** The key servers of the settings. */
  readonly keyServers: readonly ToldKeyServer[];
  /**
   * Opens what keeps wrapped keys.
   *
   * @default a file in the data folder
   */
  readonly openRows?: OpenKeyRows | undefined;
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong. */
  readonly logger: Logger;
}

/** Vaults that are not started. */
interface OpenedVault {
  /** Seals and opens memories. */
  readonly vault: RelayerVault;
  /**
   * The vault whose keys are in the data folder: the same as `vault`, or a part
   * of it.
   */
  readonly local: LocalVault;
  /**
   * Takes sessions of owners for the key servers; undefined where memories are
   * not behind key servers.
   */
  readonly sessions: OwnerSessions | undefined;
}

/**
 * Makes the vault; no key server is called yet.
 *
 * @throws {Error} when a master key cannot be used
 */
export function openVault(
  settings: RelayerSettings,
  tools: OpenVaultTools,
): OpenedVault {
  const { ledger, keyServers, clock, logger } = tools;
  const local = openLocalVault(settings, tools);
  if (settings.vault === "local") {
    return { vault: local, local, sessions: undefined };
  }
  const threshold = resolveKeyServerThreshold(settings);
  const ownerKeys = new OwnerKeys({
    packageId: ledger.packageId,
    opening: new KeyThread({
      servers: {
        keyServers: keyServers.map((server) => ({
          ...server,
          publicKey: Uint8Array.fromHex(server.publicKey),
        })),
        threshold,
      },
    }),
    keyServerIds: keyServers.map(({ objectId }) => objectId),
    threshold,
    store: local.keys,
    findAccount: (owner) => findAccount(owner, ledger),
    clock,
    logger,
  });
  const vault = new ThresholdVault({ local, ownerKeys });
  return { vault, local, sessions: ownerKeys.sessions };
}

/**
 * Makes the vault with keys of its own; the vault is not started.
 *
 * @throws {Error} when a master key cannot be used
 */
export function openLocalVault(
  settings: RelayerSettings,
  { openRows, clock, logger }: Pick<
    OpenVaultTools,
    "openRows" | "clock" | "logger"
  >,
): LocalVault {
  return new LocalVault({
    dataFolder: settings.dataDir,
    masterKeys: loadMasterKeys(settings),
    openRows,
    clock,
    logger,
  });
}

async function findAccount(
  owner: string,
  ledger: Ledger,
): Promise<OwnerAccountOutcome> {
  const outcome = await ledger.accountOfOwner(owner);
  if (outcome.kind !== "ok") return { kind: outcome.kind };
  const { accountId, access } = outcome.account;
  if (access === undefined) return { kind: "unavailable" };
  const { initialVersion, counter } = access;
  const account = {
    accountId,
    initialVersion: BigInt(initialVersion),
    accessCounter: counter === undefined ? undefined : BigInt(counter),
  };
  return { kind: "ok", account };
}

function loadMasterKeys(
  { masterKeys }: RelayerSettings,
): readonly MasterKey[] | undefined {
  if (masterKeys === "") return undefined;
  const outcome = parseMasterKeys(masterKeys);
  if (outcome.kind === "invalid") {
    throw new Error(`${outcome.reason} (MASTER_KEYS)`);
  }
  return outcome.keys;
}
