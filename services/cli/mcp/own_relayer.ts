/**
 * Opens the relayer of a local memory in this process. It is a module of its
 * own, since processes that use a memory of another one do without it.
 *
 * @module
 */

import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import {
  makeLocalAccount,
  openLocalRelayer,
} from "../../relayer/local/local_relayer.ts";
import { innerFetch } from "../../relayer/mcp/inner_fetch.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { ReadVariable } from "../../shared/settings.ts";
import { serveMemorySocket } from "./memory_socket.ts";

/** What a local memory is opened with. */
export interface OwnRelayerOptions {
  /** Its folder; created with the first use. */
  readonly folder: string;
  /** Reads the environment, for settings of models. */
  readonly readVariable: ReadVariable;
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong. */
  readonly logger: Logger;
}

/** Requests of this process count as those of this machine. */
const PEER = { address: "127.0.0.1", port: 0 };

/** The relayer of a memory, open. */
interface OwnRelayer {
  /** Sends requests to it. */
  readonly fetch: MemFetch;
  /** Closes it. */
  stop(): Promise<void>;
}

/**
 * Opens the relayer of a folder, whose lock this process holds, with an account
 * for a key, and serves other processes.
 *
 * @param publicKey The key, 64 hexadecimal digits.
 * @throws {Error} when a part cannot be opened
 */
export async function openOwnRelayer(
  { folder, clock, logger, readVariable }: OwnRelayerOptions,
  publicKey: string,
): Promise<OwnRelayer> {
  await makeLocalAccount(publicKey, { folder, clock, label: "local" });
  const runtimeFolder = readVariable("XDG_RUNTIME_DIR");
  const relayer = await openLocalRelayer({
    ...{ folder, clock, logger, readVariable },
    async openFront(handler) {
      try {
        return await serveMemorySocket(handler, {
          ...{ folder, runtimeFolder, clock, logger },
        });
      } catch (error) {
        // Such as on Windows, and on file systems without sockets.
        logger.warn("Cannot share the memory with other processes", {
          error: describeError(error),
        });
        return { drain() {}, stop: () => Promise.resolve() };
      }
    },
  });
  return {
    fetch: innerFetch({ handler: relayer.handler, from: () => PEER }),
    stop: () => relayer.stop(),
  };
}
