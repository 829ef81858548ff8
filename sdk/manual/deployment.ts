/**
 * Finds the network, the package and the key servers that a client's memories
 * are encrypted for. Values that the configuration does not name come from the
 * relayer, as far as they can be checked or the application trusts the
 * relayer.
 *
 * @module
 */

import { isObject } from "../memory/answer_reader.ts";
import { askUnsigned } from "../memory/service.ts";
import { MAX_SHARES } from "../vault/shamir.ts";
import type { KeyServerChoice } from "../vault/key_server_client.ts";
import { readObjectId, type ResolvedManualConfig } from "./manual_config.ts";
import { MemLedgerError } from "./manual_errors.ts";

/** The network, package and key servers that memories are encrypted for. */
export interface Deployment {
  /** The ledger's network. */
  readonly network: string;
  /**
   * Whether the ids of accounts and key servers are computed from their owners
   * and public keys, so that a false answer of the ledger is noticed.
   */
  readonly isSelfCertified: boolean;
  /** The package of the accounts. */
  readonly packageId: string;
  /** The registry of accounts; undefined when it is not known. */
  readonly registryId: string | undefined;
  /** URL of the ledger's JSON-RPC interface. */
  readonly ledgerRpcUrl: string;
  /** Who holds the shares of the keys. */
  readonly keyServers: readonly KeyServerChoice[];
  /** How many shares are needed. */
  readonly threshold: number;
}

/**
 * The network name of a ledger that is embedded in a relayer, on which object
 * ids are computed from owners and public keys.
 */
const LOCAL_NETWORK = "localnet";
const MAX_THRESHOLD = 2;

/**
 * Returns what memories are encrypted for.
 *
 * @throws {MemLedgerError} When a value is missing, or contradicts the
 * relayer's answer.
 * @throws {MemPreflightTimeout} When the relayer does not answer in time.
 * @throws {MemError} When the relayer cannot be reached.
 */
export async function findDeployment(
  config: ResolvedManualConfig,
  parts: Parameters<typeof askUnsigned>[0],
): Promise<Deployment> {
  const json = await askUnsigned(parts, "/config");
  const told = isObject(json) ? json : {};
  const { trustRelayerKeyServers: isTrusting } = config;
  const network = pickNetwork(config, told["network"]);
  const isSelfCertified = network === LOCAL_NETWORK;
  const mayTake = isTrusting || isSelfCertified;
  const packageId = config.packageId ??
    (mayTake ? toldId(told["packageId"]) : undefined);
  if (packageId === undefined) {
    throw missing("packageId", `the network is ${network}`);
  }
  const keyServers = config.keyServers.length > 0
    ? config.keyServers
    : toldKeyServers(told["keyServers"]);
  if (keyServers.length === 0) {
    throw missing("keyServers or keyServerConfigs", "the relayer names none");
  }
  const total = keyServers.reduce((sum, { weight = 1 }) => sum + weight, 0);
  if (total > MAX_SHARES) {
    throw new MemLedgerError(
      `Cannot use key servers: they have ${total} shares, and ${MAX_SHARES} ` +
        "are the most",
    );
  }
  const toldThreshold = isTrusting ? told["keyServerThreshold"] : undefined;
  const threshold = config.keyServerThreshold ??
    (isCount(toldThreshold) ? toldThreshold : Math.min(MAX_THRESHOLD, total));
  if (threshold > total) {
    throw new MemLedgerError(
      `Cannot use key servers: a threshold of ${threshold} cannot be met by ` +
        `${total} shares`,
    );
  }
  return {
    network,
    isSelfCertified,
    packageId,
    registryId: config.registryId ?? toldId(told["registryId"]),
    ledgerRpcUrl: pickRpcUrl(config, { network, told: told["suiRpcUrl"] }),
    keyServers,
    threshold,
  };
}

function pickNetwork(
  { givenNetwork, base, trustRelayerKeyServers }: ResolvedManualConfig,
  told: unknown,
): string {
  if (givenNetwork === undefined && trustRelayerKeyServers) {
    return typeof told === "string" && told !== "" ? told : base.ledgerNetwork;
  }
  const network = base.ledgerNetwork;
  if (told === undefined || told === network) return network;
  throw new MemLedgerError(
    `Cannot use the ledger: ledgerNetwork is ${network} and the relayer's is ` +
      `${JSON.stringify(told)}`,
  );
}

function pickRpcUrl(
  { ledgerRpcUrl, trustRelayerKeyServers }: ResolvedManualConfig,
  { network, told }: { readonly network: string; readonly told: unknown },
): string {
  if (ledgerRpcUrl !== undefined) return ledgerRpcUrl;
  // On the local network every answer of the ledger is checked with ids that
  // the application has, so the relayer's URL can be used.
  const mayTake = trustRelayerKeyServers || network === LOCAL_NETWORK;
  if (mayTake && typeof told === "string" && /^https?:\/\//.test(told)) {
    return told;
  }
  if (["mainnet", "testnet", "devnet"].includes(network)) {
    return `https://fullnode.${network}.sui.io:443`;
  }
  throw missing("ledgerRpcUrl", "the relayer names no ledger");
}

function toldId(value: unknown): string | undefined {
  try {
    return readObjectId(value, "the relayer's id");
  } catch {
    return undefined;
  }
}

function toldKeyServers(value: unknown): readonly KeyServerChoice[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown) => {
    if (!isObject(one)) return [];
    const { weight } = one;
    const objectId = toldId(one["objectId"]);
    if (objectId === undefined) return [];
    return [{ objectId, weight: isCount(weight) ? weight : undefined }];
  });
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
}

function missing(name: string, state: string): MemLedgerError {
  return new MemLedgerError(
    `Cannot encrypt or decrypt: ${state}; give ${name}`,
  );
}
