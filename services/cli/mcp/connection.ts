/**
 * Opens the memories that a command works with: those of a relayer, or those in
 * a folder of this machine.
 *
 * @module
 */

import type { Mem } from "../../../sdk/memory/mem.ts";
import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { ReadVariable } from "../../shared/settings.ts";
import type { MemoryPlace } from "./memory_place.ts";
import { createRemoteMem, namespaceOptions } from "./remote_memory.ts";
import { readSecretFile } from "./secret_file.ts";

/** Memories that a command works with. */
export interface OpenMemory {
  /** Works with them. */
  readonly mem: Mem;
  /**
   * Opens what can be opened before it is needed.
   *
   * @throws {Error} when the folder cannot be used
   */
  warmUp(): Promise<void>;
  /** Lets go of the key, and closes the folder. */
  close(): Promise<void>;
}

/** What memories are opened with. */
interface OpenMemoryOptions {
  /** The namespace of calls that name none. */
  readonly namespace: string | undefined;
  /** Reads the environment. */
  readonly readVariable: ReadVariable;
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong in a folder. */
  readonly logger: Logger;
  /**
   * Sends requests to relayers.
   *
   * @default the runtime's
   */
  readonly fetch?: MemFetch | undefined;
  /**
   * Reads a file with a secret; `what` says what it holds, for errors.
   *
   * @default {readSecretFile}
   */
  readonly readSecret?:
    | ((path: string, what: string) => Promise<string>)
    | undefined;
}

/**
 * Opens memories. Their relayer is asked, or opened, with the first call.
 *
 * @throws {Error} when a file cannot be used
 * @throws {TypeError} when an address, an account or a key is not valid
 */
export async function openMemory(
  place: Exclude<MemoryPlace, { readonly kind: "invalid" }>,
  options: OpenMemoryOptions,
): Promise<OpenMemory> {
  if (place.kind === "local") {
    const { LocalMemory } = await import("./local_memory.ts");
    const local = new LocalMemory({ ...options, folder: place.folder });
    const { key, accountId } = await local.credentials();
    const { Mem } = await import("../../../sdk/memory/mem.ts");
    const mem = Mem.create({
      ...{ key, accountId, fetch: local.fetch, ...namespaceOptions(options) },
      // The transport knows where the relayer is.
      serverUrl: "http://localhost",
    });
    return {
      mem,
      warmUp: () => local.open(),
      async close() {
        mem.destroy();
        await local.close();
      },
    };
  }
  const mem = await createRemoteMem(place, {
    ...options,
    readSecret: options.readSecret ?? readSecretFile,
  });
  return {
    mem,
    warmUp: () => Promise.resolve(),
    close() {
      mem.destroy();
      return Promise.resolve();
    },
  };
}
