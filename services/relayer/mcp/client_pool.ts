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

/** The clients. */
export class ClientPool {
  readonly #clients = new BoundedMap<string, Mem>({ maxEntries: MAX_CLIENTS });
  readonly #fetch: MemFetch;

  /** No clients; `fetch` makes the requests of all. */
  constructor(fetch: MemFetch) {
    this.#fetch = fetch;
  }

  /** Returns the client of a credential. */
  of({ digest, config }: AgentCredential): Mem {
    const name = digest.toHex();
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const client = Mem.create({
      ...config,
      serverUrl: "http://relayer.internal",
      ranking: "fused",
      fetch: this.#fetch,
    });
    this.#clients.set(name, client);
    return client;
  }

  /** Forgets all clients and overwrites their keys. */
  destroy(): void {
    for (const [, client] of [...this.#clients]) client.destroy();
    this.#clients.clear();
  }
}
