/**
 * A memory in a folder that several processes use at once. The first one opens
 * it and serves it to the others over a unix socket; when it ends, another one
 * takes over.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import type { FolderLock } from "../../shared/sqlite/folder_lock.ts";
import {
  LostRelayerError,
  type MemFetch,
} from "../../../sdk/memory/round_trip.ts";
import { delegateKeyToPublicKey } from "../../../sdk/memory/private_key.ts";
import type { Credentials } from "./credentials_text.ts";
import { localCredentials } from "./credentials.ts";
import { findMemorySocket } from "./memory_socket.ts";
import type { OwnRelayerOptions } from "./own_relayer.ts";

/** What this process is among those that use the folder. */
type Role =
  /** It has the memory open. */
  | {
    readonly kind: "owner";
    readonly fetch: MemFetch;
    readonly stop: () => Promise<void>;
  }
  /** Another one has it open. */
  | { readonly kind: "guest"; readonly socketPath: string };

/** How long another process may take to open the memory, or to end. */
const TAKEOVER_MS = 20_000;
const LOOK_AGAIN_MS = 25;

/** A memory in a folder; nothing is opened before it is needed. */
export class LocalMemory {
  readonly #options: OwnRelayerOptions;
  #role: Promise<Role> | undefined;
  #isClosed = false;

  /** Touches nothing yet. */
  constructor(options: OwnRelayerOptions) {
    this.#options = options;
  }

  /**
   * Returns the account and key for it, which are made with the first use; opens
   * nothing.
   *
   * @throws {Error} when they cannot be read or made
   */
  credentials(): Promise<Credentials> {
    return localCredentials(this.#options.folder);
  }

  /**
   * Opens the memory, or finds the process that has it open.
   *
   * @throws {Error} when neither is possible
   */
  async open(): Promise<void> {
    await this.#join();
  }

  /**
   * Sends a request to the memory's relayer, wherever it runs.
   *
   * @throws {LostRelayerError} when its process ended before it answered
   * @throws {Error} when no relayer can be found or opened
   */
  readonly fetch: MemFetch = async (url, init) => {
    while (true) {
      const joined = this.#join();
      const role = await joined;
      if (role.kind === "owner") return await role.fetch(url, init);
      try {
        return await fetchOver(role.socketPath, url, init);
      } catch (error) {
        init.signal?.throwIfAborted();
        if (this.#role === joined) this.#role = undefined;
        // No relayer has seen the request, so that its signature is still good.
        if (isUnreached(error)) continue;
        throw new LostRelayerError(
          "Cannot read the answer: the process that had the memory has ended",
          { cause: error },
        );
      }
    }
  };

  /** Closes the memory when this process has it open; harmless twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const role = await this.#role?.catch(() => undefined);
    if (role?.kind === "owner") await role.stop();
  }

  #join(): Promise<Role> {
    if (this.#isClosed) {
      return Promise.reject(new Error("Cannot use the memory: it is closed"));
    }
    if (this.#role !== undefined) return this.#role;
    const role = this.#findRole();
    // The next request tries again.
    role.catch(() => this.#role = undefined);
    this.#role = role;
    return role;
  }

  async #findRole(): Promise<Role> {
    const { folder, clock } = this.#options;
    const { tryLockFolder } = await import(
      "../../shared/sqlite/folder_lock.ts"
    );
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    const lateMs = clock.nowMs() + TAKEOVER_MS;
    while (true) {
      const lock = tryLockFolder(folder, "local.lock");
      if (lock !== undefined) return await this.#own(lock);
      const socketPath = await findMemorySocket(folder);
      if (socketPath !== undefined && await isServed(socketPath)) {
        return { kind: "guest", socketPath };
      }
      if (clock.nowMs() > lateMs) throw silentOwner(folder);
      await new Promise<void>((resolve) =>
        clock.setTimer(resolve, LOOK_AGAIN_MS)
      );
    }
  }

  async #own(lock: FolderLock): Promise<Role> {
    try {
      const { openOwnRelayer } = await import("./own_relayer.ts");
      const { key } = await this.credentials();
      const publicKey = await delegateKeyToPublicKey(key);
      const relayer = await openOwnRelayer(this.#options, publicKey.toHex());
      return {
        kind: "owner",
        fetch: relayer.fetch,
        async stop() {
          await relayer.stop();
          lock.release();
        },
      };
    } catch (error) {
      lock.release();
      throw error;
    }
  }
}

/** Sends a request over a socket, and reads the whole answer. */
async function fetchOver(
  socketPath: string,
  url: string,
  init: RequestInit,
): Promise<Response> {
  const { nodeFetch } = await import("../node_fetch.ts");
  const answer = await nodeFetch(new URL(url), init, { socketPath });
  const { status, headers } = answer;
  const body = answer.body === null ? null : await answer.arrayBuffer();
  return new Response(body, { status, headers });
}

async function isServed(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch {
    return false;
  }
}

/** Whether no process listened, so that nothing was sent. */
function isUnreached(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    (error.code === "ECONNREFUSED" || error.code === "ENOENT");
}

function silentOwner(folder: string): Error {
  return new Error(
    `Cannot use the memory in ${quote(folder)}: another process has it open ` +
      "and cannot be reached; end that process, or name another folder",
  );
}
