/**
 * A few commands over a connection of their own.
 *
 * @module
 */

import type { Clock } from "../../../../shared/clock.ts";
import type { StoreTls } from "../../store_tls.ts";
import type { RedisAddress, RedisAuth } from "./address.ts";
import {
  isRedisErrorReply,
  openRedisClient,
  type RedisClient,
  type RedisClientOptions,
  type RedisCommand,
} from "./client.ts";
import { redisErrorText, type RedisOutcome, redisReply } from "./reply.ts";

/** Whom to ask, and for how long. */
export interface AskOptions {
  /** Where the server listens. */
  readonly address: RedisAddress;
  /**
   * What to sign in with.
   *
   * @default not signing in
   */
  readonly auth?: RedisAuth | undefined;
  /**
   * Encrypts the connection.
   *
   * @default not encrypted
   */
  readonly tls?: StoreTls | undefined;
  /**
   * Bound on everything from the dialling to the last reply, in milliseconds.
   */
  readonly timeoutMs: number;
  /** The time. */
  readonly clock: Clock;
  /**
   * Ends the asking.
   *
   * @default only the time does
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Makes the client.
   *
   * @default openRedisClient
   */
  readonly openClient?:
    | ((options: RedisClientOptions) => RedisClient)
    | undefined;
}

/** Dials, carries the commands out and closes the connection; never rejects. */
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
    timeoutMs,
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
        replies: values.map((value) => redisReply(value, secrets)),
      }),
    fail,
    // A dial can succeed after it was given up.
  ).finally(() => client.destroy());
  try {
    return await promise;
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", stop);
    client.destroy();
  }
}

function replies(
  client: RedisClient,
  commands: readonly RedisCommand[],
): Promise<readonly unknown[]> {
  return Promise.all(
    commands.map((command) =>
      client.send(command).catch((error) => {
        if (isRedisErrorReply(error)) return error;
        throw error;
      })
    ),
  );
}
