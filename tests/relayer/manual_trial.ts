/**
 * Starts a ledger, key servers and a relayer as processes, for tests of clients
 * that encrypt on their own side.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { MemManualConfig } from "../../sdk/manual.ts";
import {
  deriveRegistryId,
  LOCAL_PACKAGE_ID,
} from "../../services/shared/ledger/account_contract.ts";
import {
  type TestTransaction,
  TransactionSigner,
} from "../../services/shared/ledger/testing/transaction_signer.ts";
import { INSPECTOR_FLAG } from "../support/heap_snapshot.ts";
import { KeyServerGroup } from "../support/keyserver_process.ts";
import type { ServiceRun } from "../support/service_process.ts";
import {
  type RelayerProcess,
  runRelayerCommand,
  startRelayer,
} from "../support/relayer_process.ts";
import {
  FolderStorage,
  type HomeStorage,
  type MakeStorage,
} from "./home_storage.ts";
import { type ReadableTrace, readableTraces } from "./readable_traces.ts";

const WIDTH = 1_536;
const CREDENTIAL = "0123456789abcdef0123456789abcdef";
const OWNER = 7;
/** The byte that the delegate's private key consists of. */
export const DELEGATE = 9;

/** Returns a private key of 32 times the same byte. */
export function createSeed(byte: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(32).fill(byte);
}

/**
 * Returns a vector in which each word has a position of its own, apart from
 * collisions.
 */
export function embed(text: string): readonly number[] {
  const vector = Array<number>(WIDTH).fill(0);
  for (const word of text.toLowerCase().split(/\W+/)) {
    const hash = [...word].reduce(
      (sum, letter) => (sum * 31 + letter.charCodeAt(0)) % WIDTH,
      7,
    );
    vector[hash] = 1;
  }
  return vector;
}

/** A ledger and key servers as processes, which several trials may share. */
export interface TrialServers {
  /** The URL of the ledger's process, without a path. */
  readonly ledgerUrl: string;
  /** The data folder of the ledger's process. */
  readonly ledgerDir: string;
  /** The key servers: three, of which two have to answer. */
  readonly group: KeyServerGroup;
  /** Makes what keeps the data of a relayer. */
  readonly storage: MakeStorage;
}

/** Options of {@linkcode withTrial}. */
export interface TrialOptions {
  /**
   * Settings to add to the relayer's; a function computes them from the key
   * servers.
   *
   * @default none
   */
  readonly env?:
    | Environment
    | ((group: KeyServerGroup) => Environment)
    | undefined;
  /**
   * The ledger and key servers to use; trials that share them need owners of
   * their own.
   *
   * @default others, for this trial alone
   */
  readonly servers?: TrialServers | undefined;
  /**
   * The byte that the owner's private key consists of.
   *
   * @default {7}
   */
  readonly owner?: number | undefined;
}

/** The processes and tools that a test gets. */
export interface ManualTrial {
  /** The owner of the account. */
  readonly owner: TransactionSigner;
  /** The key servers: three, of which two have to answer. */
  readonly group: KeyServerGroup;
  /** The relayer process, with V8's inspector. */
  readonly relayer: RelayerProcess;
  /** Sends a signed transaction to the ledger. */
  readonly send: (sent: TestTransaction) => Promise<void>;
  /**
   * Starts the relayer again after it was stopped, with some settings changed.
   */
  readonly restart: (changed?: Environment) => Promise<RelayerProcess>;
  /**
   * Runs a command of the relayer with its settings, some of them changed; in
   * this process unless `runWith` starts another.
   */
  readonly run: (
    args: readonly string[],
    changed?: Environment,
    runWith?: typeof runRelayerCommand,
  ) => Promise<ServiceRun>;
  /** What keeps the relayer's data. */
  readonly storage: HomeStorage;
  /** Searches for secrets what the ledger and the relayer have written. */
  readonly traces: (
    secrets: readonly string[],
  ) => Promise<readonly ReadableTrace[]>;
  /** The configuration with which clients of the delegate are created. */
  readonly config: MemManualConfig;
}

async function sendTo(
  ledgerUrl: string,
  { data, signature }: TestTransaction,
): Promise<void> {
  const response = await fetch(`${ledgerUrl}/rpc`, {
    method: "POST",
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "sui_executeTransactionBlock",
      params: [data.toBase64(), [signature.toBase64()], { showEffects: true }],
    }),
  });
  const { result } = await response.json();
  assertEquals(result.effects.status.status, "success");
}

type Environment = Readonly<Record<string, string>>;

/**
 * Starts a ledger and key servers, runs `use`, and removes everything.
 *
 * @param storage As `onStores` gives it; without it, data are in folders.
 */
export async function withTrialServers(
  use: (servers: TrialServers) => Promise<void>,
  storage: MakeStorage = (dataDir) => new FolderStorage(dataDir),
): Promise<void> {
  const ledgerDir = await Deno.makeTempDir({ prefix: "ledger_test_" });
  try {
    await using ledger = await startRelayer({
      dataDir: ledgerDir,
      args: ["ledger"],
      env: { LEDGER_CREDENTIAL: CREDENTIAL },
    });
    await using group = await KeyServerGroup.start(3, {
      LEDGER_RPC_URL: `${ledger.url}/rpc`,
    });
    for (const { url, publicKey } of group.keyServers) {
      const args = ["--name", "test", "--url", url, "--public-key"];
      const { code, stderr } = await runRelayerCommand({
        dataDir: ledgerDir,
        args: ["ledger", "add-key-server", ...args, publicKey.toHex()],
      });
      assertEquals(code, 0, stderr);
    }
    await use({ ledgerUrl: ledger.url, ledgerDir, group, storage });
  } finally {
    await Deno.remove(ledgerDir, { recursive: true });
  }
}

/**
 * Starts all processes that are not shared, runs `use`, and removes everything
 * afterwards.
 */
export async function withTrial(
  use: (trial: ManualTrial) => Promise<void>,
  { servers, env = {}, owner: ownerSeed = OWNER }: TrialOptions = {},
): Promise<void> {
  if (servers === undefined) {
    await withTrialServers((servers) =>
      withTrial(use, { env, owner: ownerSeed, servers })
    );
    return;
  }
  const { ledgerUrl, ledgerDir, group } = servers;
  const dataDir = await Deno.makeTempDir({ prefix: "relayer_test_" });
  const storage = servers.storage(dataDir);
  try {
    const owner = new TransactionSigner({
      seed: ownerSeed,
      packageId: LOCAL_PACKAGE_ID,
    });
    const { publicKey } = new TransactionSigner({
      seed: DELEGATE,
      packageId: LOCAL_PACKAGE_ID,
    });
    const send = (sent: TestTransaction) => sendTo(ledgerUrl, sent);
    await send(await owner.createAccount());
    await send(await owner.addDelegateKey(publicKey));
    const settings = {
      LEDGER_RPC_URL: `${ledgerUrl}/rpc`,
      LEDGER_PACKAGE_ID: LOCAL_PACKAGE_ID,
      LEDGER_REGISTRY_ID: deriveRegistryId(LOCAL_PACKAGE_ID),
      LEDGER_CREDENTIAL: CREDENTIAL,
      LOG_LEVEL: "debug",
      ...storage.env,
      ...(typeof env === "function" ? env(group) : env),
    };
    const start = (changed: Environment = {}) =>
      startRelayer({
        dataDir,
        env: { ...settings, ...changed },
        runtimeFlags: [INSPECTOR_FLAG],
      });
    await using relayer = await start();
    await using started = new AsyncDisposableStack();
    const restart = async (changed?: Environment) =>
      started.use(await start(changed));
    const run: ManualTrial["run"] = (
      args,
      changed = {},
      runWith = runRelayerCommand,
    ) => runWith({ dataDir, args, env: { ...settings, ...changed } });
    await use({
      ...{ owner, group, relayer, restart, run, send, storage },
      traces: async (secrets) => [
        ...await readableTraces(ledgerDir, secrets),
        ...await storage.traces(secrets),
      ],
      config: {
        key: createSeed(DELEGATE),
        accountId: owner.accountId,
        serverUrl: relayer.url,
        ledgerNetwork: "localnet",
        keyServers: group.keyServers.map(({ objectId }) => objectId),
        embed,
      },
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}
