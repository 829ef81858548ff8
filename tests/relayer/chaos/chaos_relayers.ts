/**
 * The relayers that the crash test harms: one process on a data folder, or
 * several on a database with standbys.
 *
 * @module
 */

import type { ChaosService } from "../../support/chaos/chaos_service.ts";
import { pause } from "../../support/chaos/chaos_service.ts";
import {
  PostgresCluster,
  type PostgresClusterOptions,
} from "../../support/chaos/postgres_cluster.ts";
import {
  createAccount,
  type RelayerAccount,
  type RelayerProcess,
  startRelayer,
} from "../../support/relayer_process.ts";
import type { SeededRandom } from "../../support/seeded_random.ts";
import {
  type HomeStorage,
  SchemaStorage,
  type TestDatabase,
} from "../home_storage.ts";
import { RelayerHome } from "../relayer_home.ts";
import { WireClient } from "../wire_client.ts";

/** Relayers with an account, and what keeps their data. */
export interface ChaosRelayers {
  /** The relayers, which are harmed. */
  readonly service: ChaosService<RelayerProcess>;
  /** The relayers that are not harmed. */
  readonly running: readonly RelayerProcess[];
  /** The account of the clients. */
  readonly account: RelayerAccount;
  /** The account whose memories show whether writes pass, if there is one. */
  readonly prober: RelayerAccount | undefined;
  /** What keeps the data. */
  readonly storage: HomeStorage;
  /** Milliseconds from each promotion of a standby to the first write. */
  readonly writesAgainMs: readonly number[];
  /** Stops all relayers, and keeps the data; `service.heal` starts others. */
  halt(): Promise<readonly string[]>;
  /** Ends everything and removes the data. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The share of restarts after which the only relayer is killed again while it
 * resumes its work.
 */
const SECOND_KILL_SHARE = 0.3;
const SECOND_KILL_RANGE_MS = 60;

/** One relayer on a data folder. */
export class SingleRelayer
  implements ChaosRelayers, ChaosService<RelayerProcess> {
  /** False: the process is gone until it is started again. */
  readonly outlivesStrikes = false;
  /** None. */
  readonly prober = undefined;
  /** None. */
  readonly writesAgainMs: readonly number[] = [];
  readonly #home: RelayerHome;

  private constructor(home: RelayerHome) {
    this.#home = home;
  }

  /** Starts the relayer. */
  static async start(): Promise<SingleRelayer> {
    return new SingleRelayer(await RelayerHome.open());
  }

  /** Itself. */
  get service(): ChaosService<RelayerProcess> {
    return this;
  }

  /** The only relayer. */
  get running(): readonly RelayerProcess[] {
    return [this.#home.service];
  }

  /** The account. */
  get account(): RelayerAccount {
    return this.#home.account();
  }

  /** The files. */
  get storage(): HomeStorage {
    return this.#home.storage;
  }

  /** The only relayer. */
  choose(): RelayerProcess {
    return this.#home.service;
  }

  /** Kills the relayer. */
  async strike(): Promise<string> {
    await this.#home.service.kill();
    return "kill";
  }

  /** Starts the relayer, and sometimes kills it at once and starts it again. */
  async heal(random: SeededRandom): Promise<void> {
    await this.#home.start();
    if (!random.chance(SECOND_KILL_SHARE)) return;
    await pause(random.below(SECOND_KILL_RANGE_MS));
    await this.#home.service.kill();
    await this.#home.start();
  }

  /** Stops the relayer. */
  async halt(): Promise<readonly string[]> {
    const code = await this.#home.stop();
    return code === 0 ? [] : [`the relayer ended with ${code}`];
  }

  /** Stops the relayer. */
  stop(): Promise<readonly string[]> {
    return this.halt();
  }

  /** Kills the relayer. */
  async kill(): Promise<void> {
    await this.#home.service.kill();
  }

  /** Removes the folder, too. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#home[Symbol.asyncDispose]();
  }
}

/** Makes the schema, an account, and one that probes whether writes pass. */
async function prepare(folder: string, database: TestDatabase) {
  const storage: HomeStorage = new SchemaStorage(folder, database);
  const place = { dataDir: folder, env: storage.env };
  return {
    storage,
    account: await createAccount(place),
    prober: await createAccount(place),
  };
}

/** Several relayers on a database with standbys. */
export class RelayerCluster implements ChaosRelayers {
  /** The relayers. */
  readonly service: PostgresCluster<RelayerProcess>;
  /** The account. */
  readonly account: RelayerAccount;
  /** The account whose memories show whether writes pass. */
  readonly prober: RelayerAccount;
  /** The database. */
  readonly storage: HomeStorage;
  readonly #folder: string;

  private constructor(
    { service, account, prober, storage, folder }:
      & Pick<RelayerCluster, "service" | "account" | "prober" | "storage">
      & { readonly folder: string },
  ) {
    this.service = service;
    this.account = account;
    this.prober = prober;
    this.storage = storage;
    this.#folder = folder;
  }

  /** Starts the servers and the relayers. */
  static async start(
    options: Pick<
      PostgresClusterOptions<RelayerProcess>,
      "instances" | "harms" | "maxOutageMs"
    >,
  ): Promise<RelayerCluster> {
    const folder = await Deno.makeTempDir({ prefix: "relayer_test_" });
    try {
      let made: ReturnType<typeof prepare> | undefined;
      let probes = 0;
      const service = await PostgresCluster.start<RelayerProcess>({
        ...options,
        async startInstance(group) {
          made ??= prepare(folder, group);
          const { storage } = await made;
          return await startRelayer({ dataDir: folder, env: storage.env });
        },
        async tryWrite({ url }) {
          const prober = (await made)?.prober;
          if (prober === undefined) return false;
          const { status } = await new WireClient(() => url, prober)
            .call("POST", "/api/remember", { text: `Probe ${probes++}` })
            .catch(() => ({ status: 503 }));
          return status === 202;
        },
      });
      if (made === undefined) throw new Error("Cannot go on: no relayer");
      return new RelayerCluster({ ...await made, service, folder });
    } catch (error) {
      await Deno.remove(folder, { recursive: true });
      throw error;
    }
  }

  /** The relayers that are not harmed. */
  get running(): readonly RelayerProcess[] {
    return this.service.running;
  }

  /** Milliseconds from each promotion to the first write that was answered. */
  get writesAgainMs(): readonly number[] {
    return this.service.writesAgainMs;
  }

  /** Stops the relayers. */
  async halt(): Promise<readonly string[]> {
    await this.service.stopInstances();
    return this.service.faults;
  }

  /** Ends relayers and servers, and removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.kill();
    await Deno.remove(this.#folder, { recursive: true });
  }
}
