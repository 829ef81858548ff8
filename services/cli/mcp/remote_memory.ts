/**
 * Makes clients of a relayer's memories; runs in Deno and in Node.
 *
 * @module
 */

import type { ClientClock } from "../../../sdk/memory/client_clock.ts";
import { Mem } from "../../../sdk/memory/mem.ts";
import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import type { ReadVariable } from "../../shared/settings.ts";
import { readCredentialsText } from "./credentials_text.ts";
import type { MemoryPlace } from "./memory_place.ts";

/** What clients are made with. */
interface RemoteMemoryOptions {
  /** The namespace of calls that name none. */
  readonly namespace: string | undefined;
  /** Reads the environment. */
  readonly readVariable: ReadVariable;
  /**
   * Reads a file with a secret that only its owner may read; `what` says what
   * it holds, for errors.
   */
  readonly readSecret: (path: string, what: string) => Promise<string>;
  /**
   * Sends the requests.
   *
   * @default the runtime's
   */
  readonly fetch?: MemFetch | undefined;
  /**
   * The time.
   *
   * @default the machine's
   */
  readonly clock?: ClientClock | undefined;
}

/** The options of a client that names a namespace, or the environment's. */
export function namespaceOptions(
  { namespace, readVariable }: Pick<
    RemoteMemoryOptions,
    "namespace" | "readVariable"
  >,
): { readonly namespace?: string } {
  const named = namespace || readVariable("TERCET_NAMESPACE") ||
    // The existing relayer's package reads this one.
    readVariable("MEMWAL_NAMESPACE");
  return named ? { namespace: named } : {};
}

/**
 * Makes a client; its relayer is asked with the first call.
 *
 * @throws {Error} when a file cannot be used
 * @throws {TypeError} when an address, an account or a key is not valid
 */
export async function createRemoteMem(
  { secret, relayer, account }: Extract<
    MemoryPlace,
    { readonly kind: "remote" }
  >,
  options: RemoteMemoryOptions,
): Promise<Mem> {
  const { readVariable, readSecret, fetch, clock } = options;
  const common = {
    ...namespaceOptions(options),
    ...(fetch === undefined ? {} : { fetch }),
    ...(clock === undefined ? {} : { clock }),
  };
  if (secret.kind === "credentials") {
    const text = await readSecret(secret.path, "credentials");
    const read = readCredentialsText(text, secret.path);
    const serverUrl = relayer ?? read.relayerUrl;
    return Mem.create({
      ...{ key: read.key, accountId: account ?? read.accountId, ...common },
      ...(serverUrl === undefined ? {} : { serverUrl }),
    });
  }
  const text = secret.kind === "variable"
    ? readVariable(secret.name)?.trim() ?? ""
    : await readSecret(secret.path, secret.kind);
  const server = relayer === undefined ? {} : { serverUrl: relayer };
  return account === undefined
    ? Mem.create({ accessToken: text, ...server, ...common })
    : Mem.create({ key: text, accountId: account, ...server, ...common });
}
