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
  const master = await startRedisServer({ args: REPLICATION });
  const replica = await startRedisServer({
    args: [...REPLICATION, "--replicaof", master.host, String(master.port)],
  });
  await waitUntil(
    async () => (await master.ask("ROLE")).includes(String(replica.port)),
    { what: "the replica", timeoutMs: 10_000 },
  );
  const sentinels = await startSentinels(master, options);
  return new RedisFailoverGroup(master, replica, sentinels);
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

  /** Waits until a server says that it is a "master" or a "slave". */
  async waitForRole(server: RedisServer, role: string): Promise<void> {
    await waitUntil(
      async () => (await server.ask("ROLE")).startsWith(role),
      { what: `the role ${role}`, timeoutMs: 15_000 },
    );
  }

  /** Ends all processes. */
  async stop(): Promise<void> {
    const all = [...this.sentinels, this.master, this.replica];
    await Promise.all(all.map((server) => server.stop()));
  }
}

async function startSentinels(
  master: RedisServer,
  options: FailoverGroupOptions,
): Promise<readonly RedisServer[]> {
  const { host, port } = master;
  const { sentinelPassword } = options;
  const sentinels = Array.from({ length: SENTINELS }, () =>
    new RedisServer({
      ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
      sentinelConfig: [
        `sentinel monitor mymaster ${host} ${port} 2`,
        "sentinel down-after-milliseconds mymaster 300",
        "sentinel failover-timeout mymaster 1000",
      ],
    }));
  await Promise.all(sentinels.map((sentinel) => sentinel.start()));
  // Servers that do not know this are as good, and slower.
  await Promise.all(sentinels.map((sentinel) => sentinel.ask(...HASTE)));
  for (const sentinel of sentinels) {
    await waitUntil(
      () => knowsAll(sentinel),
      { what: "the sentinels to meet", timeoutMs: 15_000 },
    );
  }
  return sentinels;
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
