/**
 * A relayer process with a data folder and accounts of its own, which a test
 * can stop, kill and start again.
 *
 * @module
 */

import { Mem, type MemConfig } from "../../mod.ts";
import {
  createAccount,
  type RelayerAccount,
  type RelayerProcess,
  startRelayer,
} from "../support/relayer_process.ts";
import type { HandKey } from "./hand_signer.ts";
import {
  FolderStorage,
  type HomeStorage,
  type MakeStorage,
} from "./home_storage.ts";
import { WireClient } from "./wire_client.ts";

/** Options of {@linkcode RelayerHome.open}. */
export interface RelayerHomeOptions {
  /**
   * Settings of the process.
   *
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Number of accounts to create.
   *
   * @default {1}
   */
  readonly accounts?: number;
  /**
   * Makes what keeps the data, as `onStores` gives it.
   *
   * @default files of the data folder
   */
  readonly storage?: MakeStorage;
}

/**
 * A relayer process and its data folder; both are removed when it is disposed
 * of.
 */
export class RelayerHome {
  /** The data folder. */
  readonly dataDir: string;
  /** The accounts. */
  readonly accounts: readonly RelayerAccount[];
  /** What keeps the data. */
  readonly storage: HomeStorage;
  readonly #env: Readonly<Record<string, string>>;
  readonly #clients: Mem[] = [];
  #service: RelayerProcess | undefined;

  private constructor(
    dataDir: string,
    { accounts, storage, env }: {
      readonly accounts: readonly RelayerAccount[];
      readonly storage: HomeStorage;
      readonly env: Readonly<Record<string, string>>;
    },
  ) {
    this.dataDir = dataDir;
    this.accounts = accounts;
    this.storage = storage;
    this.#env = { ...storage.env, ...env };
  }

  /** Creates the folder and the accounts, and starts the process. */
  static async open(options: RelayerHomeOptions = {}): Promise<RelayerHome> {
    const dataDir = await Deno.makeTempDir({ prefix: "relayer_test_" });
    try {
      const storage = options.storage?.(dataDir) ?? new FolderStorage(dataDir);
      const made: RelayerAccount[] = [];
      while (made.length < (options.accounts ?? 1)) {
        made.push(await createAccount({ dataDir, env: storage.env }));
      }
      const home = new RelayerHome(dataDir, {
        ...{ accounts: made, storage },
        env: options.env ?? {},
      });
      await home.start();
      return home;
    } catch (error) {
      await Deno.remove(dataDir, { recursive: true });
      throw error;
    }
  }

  /** The process that is running. */
  get service(): RelayerProcess {
    if (this.#service !== undefined) return this.#service;
    throw new Error("Cannot use the relayer: it is not started");
  }

  /** The URL on which the process listens. */
  get url(): string {
    return this.service.url;
  }

  /**
   * Returns an account by its number, from 0.
   *
   * @throws {RangeError} When there are fewer accounts.
   */
  account(index = 0): RelayerAccount {
    const account = this.accounts[index];
    if (account !== undefined) return account;
    throw new RangeError(`Cannot use account ${index}: there is none`);
  }

  /** Starts the process; `env` is added to its settings. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#service = await startRelayer({
      dataDir: this.dataDir,
      env: { ...this.#env, ...env },
    });
  }

  /** Stops the process gracefully, and returns its exit code. */
  async stop(): Promise<number> {
    return await this.service.stop();
  }

  /**
   * Stops the process gracefully and starts it again; `env` is added to its
   * settings.
   */
  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const code = await this.stop();
    if (code !== 0) throw this.service.failure(`it ended with ${code}`);
    await this.start(env);
  }

  /**
   * Creates a client of the current process; it is destroyed together with this
   * object.
   */
  mem(config: Partial<MemConfig> = {}, account = this.account()): Mem {
    const mem = Mem.create({
      key: account.key,
      accountId: account.accountId,
      serverUrl: this.url,
      ...config,
    });
    this.#clients.push(mem);
    return mem;
  }

  /**
   * Creates a client that signs requests by hand; it still works after a
   * restart.
   */
  wire(signer: HandKey = this.account()): WireClient {
    return new WireClient(() => this.url, signer);
  }

  /** Ends the clients and the process, and removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const mem of this.#clients) mem.destroy();
    await this.#service?.kill();
    await Deno.remove(this.dataDir, { recursive: true });
  }
}
