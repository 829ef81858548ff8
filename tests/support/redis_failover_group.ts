/**
 * Starts a Redis master, a replica and sentinels as real processes.
 *
 * @module
 */

import { RedisServer, startRedisServer } from "./redis_server.ts";
import { waitUntil } from "./wait_until.ts";

/** Options of {@linkcode startFailoverGroup}. */
export interface FailoverGroupOptions {
  /**
   * The password of the sentinels.
   *
   * @default none
   */
  readonly sentinelPassword?: string;
}

const SENTINELS = 3;
/**
 * How long a change of roles may take, in milliseconds; on a busy machine it
 * takes long.
 */
const SETTLE_MS = 60_000;
/**
 * Lets a master send its data to a replica at once, without waiting for further
 * replicas.
 */
const REPLICATION = ["--repl-diskless-sync-delay", "0"];
/**
 * A command that makes sentinels check servers and exchange messages more
 * often.
 */
const HASTE = [
  ...["SENTINEL", "DEBUG", "info-period", "200", "ping-period", "100"],
  ...["publish-period", "200", "ask-period", "100"],
];

/** Starts a group and waits until its sentinels agree on it. */
export async function startFailoverGroup(
  options: FailoverGroupOptions = {},
): Promise<RedisFailoverGroup> {
  const started: RedisServer[] = [];
  try {
    const master = await startRedisServer({ args: REPLICATION });
    started.push(master);
    const replica = await startRedisServer({
      args: [...REPLICATION, "--replicaof", master.host, String(master.port)],
    });
    started.push(replica);
    await waitUntil(
      async () => (await master.ask("ROLE")).includes(String(replica.port)),
      { what: "the replica", timeoutMs: SETTLE_MS },
    );
    const sentinels = createSentinels(master, options);
    started.push(...sentinels);
    await meet(sentinels);
    return new RedisFailoverGroup(master, replica, sentinels);
  } catch (error) {
    // Processes left running would disturb later tests.
    await Promise.all(started.map((server) => server.stop()));
    throw error;
  }
}

/** Two servers, one of which is the master, and three sentinels. */
export class RedisFailoverGroup {
  /** The name of the master at the sentinels. */
  readonly masterName = "mymaster";
  /** The server that is the master at the start. */
  readonly master: RedisServer;
  /** The server that is the replica at the start. */
  readonly replica: RedisServer;
  /** The sentinel processes. */
  readonly sentinels: readonly RedisServer[];

  /** Creates a group of processes that are already running. */
  constructor(
    master: RedisServer,
    replica: RedisServer,
    sentinels: readonly RedisServer[],
  ) {
    this.master = master;
    this.replica = replica;
    this.sentinels = sentinels;
  }

  /** Waits until a server reports that it is a master. */
  async waitForMaster(server: RedisServer): Promise<void> {
    await waitUntil(
      async () => (await server.ask("ROLE")).startsWith("master"),
      { what: "the role of a master", timeoutMs: SETTLE_MS },
    );
  }

  /**
   * Waits until the roles are settled: all sentinels name the same master, that
   * server reports the same itself, and the other server replicates it. Returns
   * the master. Either server may be the master, since on a busy machine the
   * sentinels may start another failover.
   */
  async settled(): Promise<RedisServer> {
    let found: RedisServer | undefined;
    await waitUntil(
      async () => {
        found = await this.#settledMaster();
        return found !== undefined;
      },
      { what: "the roles to be settled", timeoutMs: SETTLE_MS, intervalMs: 50 },
    );
    if (found === undefined) throw new Error("Cannot tell the master");
    return found;
  }

  async #settledMaster(): Promise<RedisServer | undefined> {
    const named = await Promise.all(
      this.sentinels.map((sentinel) =>
        sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.masterName)
      ),
    );
    const servers = [this.master, this.replica];
    const master = servers.find(({ host, port }) =>
      named.every((address) => address === `${host}\n${port}`)
    );
    const other = servers.find((server) => server !== master);
    if (master === undefined || other === undefined) return undefined;
    const [role, otherRole] = await Promise.all([
      master.ask("ROLE"),
      other.ask("ROLE"),
    ]);
    const follows = ["slave", master.host, String(master.port), "connected"]
      .join("\n");
    return role.startsWith("master") && otherRole.startsWith(follows)
      ? master
      : undefined;
  }

  /** Ends all processes. */
  async stop(): Promise<void> {
    const all = [...this.sentinels, this.master, this.replica];
    await Promise.all(all.map((server) => server.stop()));
  }
}

function createSentinels(
  master: RedisServer,
  options: FailoverGroupOptions,
): readonly RedisServer[] {
  const { host, port } = master;
  const { sentinelPassword } = options;
  return Array.from({ length: SENTINELS }, () =>
    new RedisServer({
      ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
      sentinelConfig: [
        `sentinel monitor mymaster ${host} ${port} 2`,
        // With a shorter time, a master that only waits for the processor would
        // count as down.
        "sentinel down-after-milliseconds mymaster 1000",
        "sentinel failover-timeout mymaster 1000",
      ],
    }));
}

/** Starts sentinels and waits until they know each other. */
async function meet(sentinels: readonly RedisServer[]): Promise<void> {
  await Promise.all(sentinels.map((sentinel) => sentinel.start()));
  // A server that does not know this command works as well, only more slowly.
  await Promise.all(sentinels.map((sentinel) => sentinel.ask(...HASTE)));
  for (const sentinel of sentinels) {
    await waitUntil(
      () => knowsAll(sentinel),
      { what: "the sentinels to meet", timeoutMs: SETTLE_MS },
    );
  }
}

async function knowsAll(sentinel: RedisServer): Promise<boolean> {
  const lines = (await sentinel.ask("SENTINEL", "MASTER", "mymaster"))
    .split("\n");
  function findValue(name: string): string | undefined {
    return lines[lines.indexOf(name) + 1];
  }
  return findValue("num-slaves") === "1" &&
    findValue("num-other-sentinels") === String(SENTINELS - 1) &&
    findValue("flags") === "master";
}
