/**
 * Who is the master of a failover group.
 *
 * @module
 */

import {
  formatRedisAddress,
  type RedisAddress,
  type RedisAuth,
} from "./address.ts";
import { type AskOptions, askRedis } from "./ask.ts";
import {
  isRedisRefusal,
  type RedisReply,
  ROLE_COMMAND,
  roleProblem,
} from "./reply.ts";

/** Whom to ask. */
interface MasterQueryOptions extends Omit<AskOptions, "address" | "auth"> {
  /** What the sentinels call the master. */
  readonly masterName: string;
  /** Where the sentinels listen, in the order in which they are asked. */
  readonly sentinels: readonly RedisAddress[];
  /**
   * What to sign in with at the sentinels.
   *
   * @default not signing in
   */
  readonly sentinelAuth?: RedisAuth | undefined;
  /**
   * What to sign in with at the master.
   *
   * @default not signing in
   */
  readonly auth?: RedisAuth | undefined;
  /**
   * A master that need not be asked, since connections to it are up, as
   * {@linkcode formatRedisAddress} writes it.
   *
   * @default none
   */
  readonly proven?: string;
}

/** The master, or why there is none. */
export type MasterOutcome =
  | {
    readonly kind: "found";
    /** Where it listens. */
    readonly master: RedisAddress;
    /** The sentinel that knew. */
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
    // That several sentinels name one server makes it no better.
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

/** The address, or why there is none. */
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

/** Why the server is no master. */
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
