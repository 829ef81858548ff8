/**
 * Sends single questions to Redis servers, each over a connection of its own,
 * and finds the master of a failover group.
 *
 * @module
 */

import type { Clock } from "../../../../shared/clock.ts";
import {
  formatRedisAddress,
  type RedisAddress,
  type RedisAuth,
} from "./address.ts";
import {
  openRedisClient,
  type RedisClient,
  type RedisClientOptions,
  replies,
} from "./client.ts";
import type { RedisCommand } from "./command_writer.ts";
import {
  isRedisRefusal,
  redisErrorText,
  type RedisOutcome,
  type RedisReply,
  ROLE_COMMAND,
  roleProblem,
  withoutSecrets,
} from "./reply.ts";

/** The server to ask, and for how long. */
export interface AskOptions
  extends Pick<RedisClientOptions, "address" | "auth" | "tls"> {
  /** Bound in milliseconds on everything from dialling to the last reply. */
  readonly timeoutMs: number;
  /** Gives the time. */
  readonly clock: Clock;
  /**
   * Ends the question early.
   *
   * @default only the time limit ends it
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Makes the client of the connection.
   *
   * @default openRedisClient
   */
  readonly openClient?:
    | ((options: RedisClientOptions) => RedisClient)
    | undefined;
}

/** Dials, sends the commands, and closes the connection; never rejects. */
export async function askRedis(
  options: AskOptions,
  commands: readonly RedisCommand[],
): Promise<RedisOutcome> {
  const { address, auth, tls, timeoutMs, clock, signal } = options;
  const secrets = auth === undefined ? [] : [auth.password];
  const { promise, resolve } = Promise.withResolvers<RedisOutcome>();
  function fail(error: unknown): void {
    resolve({ kind: "unavailable", reason: redisErrorText(error, secrets) });
  }
  const client = (options.openClient ?? openRedisClient)({
    address,
    auth,
    tls,
    clock,
    onError: fail,
  });
  function stop(): void {
    fail("stopped");
    client.destroy();
  }
  const timer = clock.setTimer(
    () => fail(`no answer within ${timeoutMs} ms`),
    timeoutMs,
  );
  signal?.addEventListener("abort", stop);
  const dialled = client.connect();
  if (signal?.aborted) stop();
  dialled.then(() => replies(client, commands)).then(
    (values) =>
      resolve({
        kind: "replied",
        replies: values.map((value) => withoutSecrets(value, secrets)),
      }),
    fail,
    // A dial can succeed after its time limit; its connection is closed, too.
  ).finally(() => client.destroy());
  try {
    return await promise;
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", stop);
    client.destroy();
  }
}

/** The failover group whose master is looked for. */
interface MasterQueryOptions extends Omit<AskOptions, "address" | "auth"> {
  /** Name of the master at the sentinels. */
  readonly masterName: string;
  /** Addresses of the sentinels, in the order in which they are asked. */
  readonly sentinels: readonly RedisAddress[];
  /**
   * Credentials for the sentinels.
   *
   * @default not signing in
   */
  readonly sentinelAuth?: RedisAuth | undefined;
  /**
   * Credentials for the master.
   *
   * @default not signing in
   */
  readonly auth?: RedisAuth | undefined;
  /**
   * Address of a master that need not be asked, since connections to it are up,
   * in the form of {@linkcode formatRedisAddress}.
   *
   * @default none
   */
  readonly proven?: string | undefined;
}

/** The master of a failover group, or why it was not found. */
export type MasterOutcome =
  | {
    readonly kind: "found";
    /** Address of the master. */
    readonly master: RedisAddress;
    /** The sentinel that named the master. */
    readonly sentinel: RedisAddress;
  }
  | { readonly kind: "none"; readonly reason: string };

/**
 * Asks the sentinels, one after the other, for the master's address, until the
 * server at that address says itself that it is a master. `timeoutMs` bounds
 * each question.
 */
export async function findMaster(
  options: MasterQueryOptions,
): Promise<MasterOutcome> {
  const reasons: string[] = [];
  const refused = new Map<string, string>();
  for (const sentinel of options.sentinels) {
    if (options.signal?.aborted) break;
    const place = formatRedisAddress(sentinel);
    const asked = await askSentinel(sentinel, options);
    if (typeof asked === "string") {
      reasons.push(`sentinel "${place}": ${asked}`);
      continue;
    }
    // A server that was refused is not better because several sentinels name
    // it.
    const name = formatRedisAddress(asked);
    if (refused.has(name)) continue;
    const problem = name === options.proven
      ? undefined
      : await askMaster(asked, options);
    if (problem === undefined) {
      return { kind: "found", master: asked, sentinel };
    }
    refused.set(name, problem);
    reasons.push(`master "${name}" of sentinel "${place}": ${problem}`);
  }
  return { kind: "none", reason: reasons.join("; ") || "stopped" };
}

/**
 * Returns the address that a sentinel gives for the master, or why it gives
 * none.
 */
async function askSentinel(
  address: RedisAddress,
  options: MasterQueryOptions,
): Promise<RedisAddress | string> {
  const { masterName, sentinelAuth } = options;
  const outcome = await askRedis(
    askOptions(options, { address, auth: sentinelAuth }),
    [["SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName]],
  );
  if (outcome.kind === "unavailable") return outcome.reason;
  const reply = outcome.replies[0] ?? null;
  if (isRedisRefusal(reply)) return reply.refusal;
  return masterAddress(reply) ?? `it knows no master "${masterName}"`;
}

/**
 * Returns why the server can't be used as the master; undefined when it can.
 */
async function askMaster(
  address: RedisAddress,
  options: MasterQueryOptions,
): Promise<string | undefined> {
  const outcome = await askRedis(
    askOptions(options, { address, auth: options.auth }),
    [["PING"], ROLE_COMMAND],
  );
  if (outcome.kind === "unavailable") return outcome.reason;
  const [pong = null, role = null] = outcome.replies;
  return isRedisRefusal(pong) ? pong.refusal : roleProblem(role);
}

function askOptions(
  options: MasterQueryOptions,
  server: {
    readonly address: RedisAddress;
    readonly auth: RedisAuth | undefined;
  },
): AskOptions {
  const { tls, timeoutMs, clock, signal, openClient } = options;
  const { address, auth } = server;
  return {
    address,
    auth,
    tls,
    timeoutMs,
    clock,
    signal,
    openClient,
  };
}

function masterAddress(reply: RedisReply): RedisAddress | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [host, port] = reply;
  if (typeof host !== "string" || host === "") return undefined;
  const number = Number(port);
  return Number.isInteger(number) && number > 0 && number < 65_536
    ? { kind: "tcp", host, port: number }
    : undefined;
}
