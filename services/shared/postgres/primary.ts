/**
 * Connects to the one of several servers that takes writes.
 *
 * @module
 */

import { describeError, waitAtMost } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { ServerAddress } from "./connection.ts";
import { openSession, type Session, type SessionOptions } from "./session.ts";
import type { ServerWatch } from "./server_watch.ts";

/** Options of {@linkcode openPrimary}. */
export interface PrimaryOptions extends SessionOptions {
  /** Says whether a server will do. */
  readonly watch: ServerWatch;
  /** Gives up when it is aborted. */
  readonly signal: AbortSignal;
}

/**
 * How long a host may keep quiet until the next one is asked as well, in
 * milliseconds: a machine that is gone refuses nothing.
 */
const NEXT_HOST_MS = 250;

/**
 * Connects to the first host, in their order, that takes writes.
 *
 * @throws {StoreFailedError} when none does, with the reason of each
 */
export async function openPrimary(options: PrimaryOptions): Promise<Session> {
  const { connection: { hosts }, clock, signal } = options;
  const losers = new AbortController();
  const attempts: Promise<Session>[] = [];
  let winner: Session | undefined;
  try {
    for (const address of hosts) {
      const either = AbortSignal.any([signal, losers.signal]);
      attempts.push(openOne(address, { ...options, signal: either }));
      const first = await waitAtMost(
        Promise.any(attempts).catch(() => undefined),
        { clock, timeoutMs: NEXT_HOST_MS },
      );
      if (first !== undefined && first !== "late") break;
    }
    winner = await Promise.any(attempts);
    return winner;
  } catch (error) {
    const failures: readonly unknown[] = error instanceof AggregateError
      ? error.errors
      : [error];
    throw new StoreFailedError(failures.map(describeError).join("; "), {
      cause: failures.at(-1),
    });
  } finally {
    losers.abort();
    for (const outcome of await Promise.allSettled(attempts)) {
      if (outcome.status === "fulfilled" && outcome.value !== winner) {
        outcome.value.destroy("another server answered first");
      }
    }
  }
}

async function openOne(
  address: ServerAddress,
  options: PrimaryOptions,
): Promise<Session> {
  const { session, identity } = await openSession(address, options);
  try {
    options.watch.see(identity);
    return session;
  } catch (cause) {
    session.destroy("it is not the primary");
    const { host, port } = address;
    throw new StoreFailedError(
      `Cannot use the database at "${host}:${port}": ${describeError(cause)}`,
      { cause },
    );
  }
}
