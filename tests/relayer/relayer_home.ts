/**
 * A relayer with a data folder and accounts of its own, which can be stopped,
 * killed and started again.
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
import { WireClient } from "./wire_client.ts";

/** How a {@linkcode RelayerHome} begins. */
export interface RelayerHomeOptions {
  /**
   * Settings of the process.
   *
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * How many accounts there are.
   *
   * @default {1}
   */
  readonly accounts?: number;
}

/** The relayer and what it keeps; gone after the test. */
export class RelayerHome {
  /** The data folder. */
  readonly dataDir: string;
  /** The accounts. */
  readonly accounts: readonly RelayerAccount[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #clients: Mem[] = [];
  #service: RelayerProcess | undefined;

  private constructor(
    dataDir: string,
    { accounts, env }: {
      readonly accounts: readonly RelayerAccount[];
      readonly env: Readonly<Record<string, string>>;
    },
  ) {
    this.dataDir = dataDir;
    this.accounts = accounts;
    this.#env = env;
  }

  /** Makes folder and accounts, and starts the process. */
  static async open(options: RelayerHomeOptions = {}): Promise<RelayerHome> {
    const dataDir = await Deno.makeTempDir({ prefix: "relayer_test_" });
    try {
      const made: RelayerAccount[] = [];
      while (made.length < (options.accounts ?? 1)) {
        made.push(await createAccount(dataDir));
      }
      const home = new RelayerHome(dataDir, {
        accounts: made,
        env: options.env ?? {},
      });
      await home.start();
      return home;
    } catch (error) {
      await Deno.remove(dataDir, { recursive: true });
      throw error;
    }
  }

  /** The process that runs. */
  get service(): RelayerProcess {
    if (this.#service !== undefined) return this.#service;
    throw new Error("Cannot use the relayer: it is not started");
  }

  /** Where it listens. */
  get url(): string {
    return this.service.url;
  }

  /**
   * Account number `index`.
   *
   * @throws {RangeError} When there are fewer.
   */
  account(index = 0): RelayerAccount {
    const account = this.accounts[index];
    if (account !== undefined) return account;
    throw new RangeError(`Cannot use account ${index}: there is none`);
  }

  /** Starts the process; `env` adds to its settings. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#service = await startRelayer({
      dataDir: this.dataDir,
      env: { ...this.#env, ...env },
    });
  }

  /** Stops it in good order, and gives the exit code. */
  async stop(): Promise<number> {
    return await this.service.stop();
  }

  /** Stops it in good order and starts it again. */
  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const code = await this.stop();
    if (code !== 0) throw this.service.failure(`it ended with ${code}`);
    await this.start(env);
  }

  /** A client of the process that runs now, ended with the test. */
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

  /** Sends requests signed by hand, across restarts. */
  wire(signer: HandKey = this.account()): WireClient {
    return new WireClient(() => this.url, signer);
  }

  /** Ends all and removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const mem of this.#clients) mem.destroy();
    await this.#service?.kill();
    await Deno.remove(this.dataDir, { recursive: true });
  }
}
