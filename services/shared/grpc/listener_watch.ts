/**
 * Noticing that a listener has turned deaf. A server of `node:net` stops to take
 * connections for good once the process had no file left for one, and tells
 * nobody; so it is called from time to time.
 *
 * @module
 */

import { connect } from "node:net";
import { type Clock, systemClock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { repeatEvery } from "../repeat.ts";
import { describeError } from "../settled.ts";
import type { GrpcAddress } from "./method.ts";

/** Options of {@linkcode watchListener}. */
export interface WatchListenerOptions {
  /** Where it listens. */
  readonly address: GrpcAddress;
  /** How many connections it has taken in so far. */
  readonly accepted: () => number;
  /** Closes the listener and opens it again at the same address. */
  readonly reopen: () => Promise<void>;
  /** Hears of it. */
  readonly logger: Logger;
  /**
   * The time source.
   *
   * @default systemClock
   */
  readonly clock?: Clock;
  /**
   * Milliseconds between two calls.
   *
   * @default 5000
   */
  readonly intervalMs?: number;
  /**
   * Milliseconds after which a connection that was not taken in never will be.
   *
   * @default 5000
   */
  readonly acceptTimeoutMs?: number;
}

/** How often it is looked whether the connection was taken in. */
const LOOK_MS = 100;

/** Calls a listener from time to time; the returned function ends that. */
export function watchListener(options: WatchListenerOptions): () => void {
  const { reopen, logger, clock = systemClock, intervalMs = 5_000 } = options;
  const ending = new AbortController();
  let isUnderWay = false;
  const look = async (): Promise<void> => {
    if (await hears(options, ending.signal) || ending.signal.aborted) return;
    logger.error("The listener takes no connections any more; opens it again");
    await reopen();
  };
  const timer = repeatEvery(clock, {
    intervalMs,
    run() {
      if (isUnderWay) return;
      isUnderWay = true;
      look().catch((error) => {
        logger.error("Cannot open the listener again; tries later", {
          error: describeError(error),
        });
      }).finally(() => isUnderWay = false);
    },
  });
  return () => {
    timer.cancel();
    ending.abort();
  };
}

/** False when the listener is surely deaf. */
function hears(
  options: WatchListenerOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { address, accepted, clock = systemClock } = options;
  const { acceptTimeoutMs = 5_000 } = options;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const before = accepted();
  const socket = connect(
    address.kind === "unix"
      ? { path: address.path }
      : { host: reachable(address.host), port: address.port },
  );
  // Looks rather than milliseconds: a process that was busy gets as many.
  let looks = Math.ceil(acceptTimeoutMs / LOOK_MS);
  const timer = repeatEvery(clock, {
    intervalMs: LOOK_MS,
    run() {
      if (accepted() !== before) resolve(true);
      else if (--looks <= 0) resolve(false);
    },
  });
  socket.on("error", (error: Error) => {
    // Such as the lack of a file for this call, which says nothing of those to
    // come. Nobody there is what an opening that failed leaves behind.
    resolve(!("code" in error && error.code === "ECONNREFUSED"));
  });
  signal.addEventListener("abort", () => resolve(true), { once: true });
  return promise.finally(() => {
    timer.cancel();
    socket.destroy();
  });
}

/** An address that can be called where it stands for all there are. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
