/**
 * Clients of the SDK by credential, shared by the sessions and requests of one
 * agent. A client is made once: it checks the relayer's version before its
 * first call.
 *
 * @module
 */

import { Mem } from "../../../sdk/memory/mem.ts";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import type { AgentCredential } from "./credential.ts";

/** Most clients that are kept; one takes some kilobytes. */
const MAX_CLIENTS = 1_024;

/** Options of {@linkcode ClientPool}. */
interface ClientPoolOptions {
  /** Makes the requests of all clients. */
  readonly fetch: MemFetch;
  /** Called when a credential gets a client. */
  readonly onOpen: (credential: AgentCredential) => void;
}

/** The clients. */
export class ClientPool {
  readonly #clients = new BoundedMap<string, Mem>({ maxEntries: MAX_CLIENTS });
  readonly #options: ClientPoolOptions;

  /** No clients. */
  constructor(options: ClientPoolOptions) {
    this.#options = options;
  }

  /** Returns the client of a credential. */
  of(credential: AgentCredential): Mem {
    const { digest, config } = credential;
    const name = digest.toHex();
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const client = Mem.create({
      ...config,
      serverUrl: "http://relayer.internal",
      ranking: "fused",
      fetch: this.#options.fetch,
    });
    this.#clients.set(name, client);
    this.#options.onOpen(credential);
    return client;
  }

  /** Forgets all clients and overwrites their keys. */
  destroy(): void {
    for (const [, client] of [...this.#clients]) client.destroy();
    this.#clients.clear();
  }
}
