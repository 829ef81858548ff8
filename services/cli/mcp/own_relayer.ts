/**
 * Opens the relayer of a local memory in this process. It is a module of its
 * own, since processes that use a memory of another one do without it.
 *
 * @module
 */

import { generateDelegateKey } from "../../../sdk/account.ts";
import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import {
  makeLocalAccount,
  openLocalRelayer,
} from "../../relayer/local/local_relayer.ts";
import { handlerFetch } from "./handler_fetch.ts";
import type { Credentials } from "./credentials.ts";
import type { LocalMemoryOptions } from "./local_memory.ts";
import { serveMemorySocket } from "./memory_socket.ts";

/** What opening needs, beside what the memory was opened with. */
interface OwnRelayerOptions extends LocalMemoryOptions {
  /** Whether an account and its key were made before. */
  readonly hasCredentials: () => Promise<boolean>;
  /** Keeps an account and its key. */
  readonly saveCredentials: (made: Credentials) => Promise<void>;
}

/** The relayer of a memory, open. */
interface OwnRelayer {
  /** Sends requests to it. */
  readonly fetch: MemFetch;
  /** Closes it. */
  stop(): Promise<void>;
}

/**
 * Opens the relayer of a folder, whose lock this process holds, makes the
 * account with the first use, and serves other processes.
 *
 * @throws {Error} when a part cannot be opened
 */
export async function openOwnRelayer(
  options: OwnRelayerOptions,
): Promise<OwnRelayer> {
  const { folder, clock, logger, readVariable } = options;
  if (!await options.hasCredentials()) {
    const { privateKey, publicKey } = await generateDelegateKey();
    // An account whose key is lost before it is saved stays without use.
    const accountId = await makeLocalAccount(publicKey.toHex(), {
      ...{ folder, clock },
      label: "local",
    });
    await options.saveCredentials({ key: privateKey, accountId });
  }
  const runtimeFolder = readVariable("XDG_RUNTIME_DIR");
  const relayer = await openLocalRelayer({
    ...{ folder, clock, logger, readVariable },
    openFront: Deno.build.os === "windows"
      // The runtime has no unix sockets there.
      ? undefined
      : (handler) =>
        serveMemorySocket(handler, { folder, runtimeFolder, clock, logger }),
  });
  return {
    fetch: handlerFetch(relayer.handler),
    stop: () => relayer.stop(),
  };
}
