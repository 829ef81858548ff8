/**
 * Starts a Redis cluster of masters and replicas as real processes.
 *
 * @module
 */

import {
  readSlots,
} from "../../services/ratelimit/counters/kvstore/redis/slot_map.ts";
import { RedisServer, type RedisServerTls } from "./redis_server.ts";
import { waitUntil } from "./wait_until.ts";

/** Number of hash slots, which every cluster has. */
const SLOT_COUNT = 16_384;

/** Options of {@linkcode startTestCluster}. */
export interface TestClusterOptions {
  /**
   * The certificate files with which the nodes speak TLS.
   *
   * @default no TLS
   */
  readonly tls?: RedisServerTls;
  /**
   * Number of replicas of each master.
   *
   * @default 1
   */
  readonly replicas?: number;
}

const MASTERS = 3;
const NODE_TIMEOUT_MS = 800;

/** Starts a cluster of three masters and waits until all nodes agree on it. */
export async function startTestCluster(
  options: TestClusterOptions = {},
): Promise<RedisTestCluster> {
  const { replicas = 1, tls } = options;
  const nodes = Array.from(
    { length: MASTERS * (1 + replicas) },
    () =>
      new RedisServer({
        ...(tls === undefined ? {} : { tls }),
        isClusterNode: true,
        args: [
          ...["--cluster-node-timeout", String(NODE_TIMEOUT_MS)],
          ...["--cluster-replica-validity-factor", "0"],
          ...["--repl-diskless-sync-delay", "0"],
        ],
      }),
  );
  await Promise.all(nodes.map((node) => node.start()));
  const cluster = new RedisTestCluster(nodes);
  await cluster.join();
  return cluster;
}

/**
 * A cluster. At the start the first three nodes are masters, the others their
 * replicas.
 */
export class RedisTestCluster {
  /** All nodes. */
  readonly nodes: readonly RedisServer[];

  /** Creates a cluster of running nodes that do not know each other yet. */
  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
  }

  /** The nodes that are masters at the start. */
  get masters(): readonly RedisServer[] {
    return this.nodes.slice(0, MASTERS);
  }

  /** Joins the nodes to a cluster. */
  async join(): Promise<void> {
    const [first, ...others] = this.nodes;
    for (const [i, node] of this.nodes.entries()) {
      await node.command("CLUSTER", "SET-CONFIG-EPOCH", String(i + 1));
    }
    const share = Math.ceil(SLOT_COUNT / MASTERS);
    for (const [i, node] of this.masters.entries()) {
      const end = Math.min(SLOT_COUNT, (i + 1) * share) - 1;
      const range = [String(i * share), String(end)];
      await node.command("CLUSTER", "ADDSLOTSRANGE", ...range);
    }
    for (const node of others) {
      const busPort = await first!.ask("CONFIG", "GET", "cluster-port");
      await node.command(
        ...["CLUSTER", "MEET", first!.host, String(first!.port)],
        busPort.split("\n")[1]!,
      );
    }
    const count = this.nodes.length;
    await this.#waitForAll(
      "all nodes to meet",
      async (node) =>
        (await this.#readNodeLines(node)).filter((line) =>
          line.includes("connected")
        )
          .length === count,
    );
    for (const [i, node] of this.nodes.slice(MASTERS).entries()) {
      const id = await this.masters[i % MASTERS]!.ask("CLUSTER", "MYID");
      await node.command("CLUSTER", "REPLICATE", id);
    }
    await this.#waitForAll("the cluster to be whole", async (node) => {
      const lines = await this.#readNodeLines(node);
      const replicas = lines.filter((line) => line.includes("slave"));
      const info = await node.ask("CLUSTER", "INFO");
      return replicas.length === count - MASTERS &&
        info.includes("cluster_state:ok");
    });
    for (const node of this.nodes.slice(MASTERS)) {
      await waitUntil(
        async () =>
          (await node.ask("INFO", "replication"))
            .includes("master_link_status:up"),
        { what: "a replica to follow", timeoutMs: 15_000 },
      );
    }
  }

  /** Returns the master that serves a slot, as the nodes report it. */
  async findMaster(slot: number): Promise<RedisServer> {
    for (const node of this.nodes) {
      const reply = await node.command("CLUSTER", "SLOTS").catch(() => null);
      const { host, port } = node;
      const address = readSlots(reply, { kind: "tcp", host, port })
        ?.findMaster(slot);
      const master = this.nodes.find((other) =>
        address?.kind === "tcp" && other.port === address.port
      );
      if (master !== undefined) return master;
    }
    throw new Error(`Cannot find the master of slot ${slot}: none serves it`);
  }

  /**
   * Moves a slot to another master: first half of its keys, then the rest.
   *
   * @param midway Runs after the first half.
   */
  async moveSlot(
    move: {
      readonly slot: number;
      readonly from: RedisServer;
      readonly to: RedisServer;
    },
    midway: () => Promise<void>,
  ): Promise<void> {
    const { slot, from, to } = move;
    const fromId = await from.ask("CLUSTER", "MYID");
    const toId = await to.ask("CLUSTER", "MYID");
    const set = ["CLUSTER", "SETSLOT", String(slot)];
    await to.command(...set, "IMPORTING", fromId);
    await from.command(...set, "MIGRATING", toId);
    const count = Number(
      await from.command("CLUSTER", "COUNTKEYSINSLOT", String(slot)),
    );
    await this.#moveKeys(move, Math.floor(count / 2));
    await midway();
    // Keys that were created meanwhile are already at the new master.
    await this.#moveKeys(move, count);
    for (const node of [to, from]) await node.command(...set, "NODE", toId);
  }

  /** Deletes all keys. */
  async flush(): Promise<void> {
    for (const node of this.masters) await node.ask("FLUSHALL");
  }

  /** Ends all processes. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async #moveKeys(
    move: {
      readonly slot: number;
      readonly from: RedisServer;
      readonly to: RedisServer;
    },
    count: number,
  ): Promise<void> {
    const { slot, from, to } = move;
    const keys = await from.command(
      ...["CLUSTER", "GETKEYSINSLOT", String(slot), String(count)],
    );
    if (!Array.isArray(keys) || keys.length === 0) return;
    await from.command(
      ...["MIGRATE", to.host, String(to.port), "", "0", "5000", "KEYS"],
      ...keys.map(String),
    );
  }

  async #waitForAll(
    what: string,
    condition: (node: RedisServer) => Promise<boolean>,
  ): Promise<void> {
    for (const node of this.nodes) {
      await waitUntil(() => condition(node), { what, timeoutMs: 15_000 });
    }
  }

  async #readNodeLines(node: RedisServer): Promise<readonly string[]> {
    return (await node.ask("CLUSTER", "NODES")).trim().split("\n");
  }
}
