/**
 * A master, a replica and sentinels, as real processes.
 *
 * @module
 */

import { RedisServer, startRedisServer } from "./redis_server.ts";
import { waitUntil } from "./wait_until.ts";

/** How a group is started. */
export interface FailoverGroupOptions {
  /**
   * A password that the sentinels want.
   *
   * @default none
   */
  readonly sentinelPassword?: string;
}

const SENTINELS = 3;
/** How long a change of roles may take; on a busy machine that is long. */
const SETTLE_MS = 60_000;
/** Replicas need not wait for others to come. */
const REPLICATION = ["--repl-diskless-sync-delay", "0"];
/** Makes sentinels look and talk more often. */
const HASTE = [
  ...["SENTINEL", "DEBUG", "info-period", "200", "ping-period", "100"],
  ...["publish-period", "200", "ask-period", "100"],
];

/** Starts a group and waits until its sentinels agree about it. */
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
    const sentinels = sentinelsOf(master, options);
    started.push(...sentinels);
    await meet(sentinels);
    return new RedisFailoverGroup(master, replica, sentinels);
  } catch (error) {
    // What was left running would trouble the tests after this one.
    await Promise.all(started.map((server) => server.stop()));
    throw error;
  }
}

/** Two servers, of which one is the master, and three sentinels. */
export class RedisFailoverGroup {
  /** What the sentinels call the master. */
  readonly masterName = "mymaster";
  /** The server that is the master at first. */
  readonly master: RedisServer;
  /** The server that is its replica at first. */
  readonly replica: RedisServer;
  /** The sentinels. */
  readonly sentinels: readonly RedisServer[];

  /** Takes processes that run already. */
  constructor(
    master: RedisServer,
    replica: RedisServer,
    sentinels: readonly RedisServer[],
  ) {
    this.master = master;
    this.replica = replica;
    this.sentinels = sentinels;
  }

  /** Waits until a server says that it is a master. */
  async waitForMaster(server: RedisServer): Promise<void> {
    await waitUntil(
      async () => (await server.ask("ROLE")).startsWith("master"),
      { what: "the role of a master", timeoutMs: SETTLE_MS },
    );
  }

  /**
   * Waits until the roles are settled: all sentinels name the same master, it
   * says so itself, and the other server follows it. Returns it. Which of the two
   * it is nobody can know before: a machine that is busy enough makes sentinels
   * change their mind.
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

function sentinelsOf(
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
        // Less, and a master that only has to wait for the processor is down.
        "sentinel down-after-milliseconds mymaster 1000",
        "sentinel failover-timeout mymaster 1000",
      ],
    }));
}

/** Starts sentinels and waits until they know one another. */
async function meet(sentinels: readonly RedisServer[]): Promise<void> {
  await Promise.all(sentinels.map((sentinel) => sentinel.start()));
  // Servers that do not know this are as good, and slower.
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
  function valueOf(name: string): string | undefined {
    return lines[lines.indexOf(name) + 1];
  }
  return valueOf("num-slaves") === "1" &&
    valueOf("num-other-sentinels") === String(SENTINELS - 1) &&
    valueOf("flags") === "master";
}
