/**
 * Clients of the SDK by credential, shared by the sessions and requests of one
 * agent. A client is made once: it checks the relayer's version before its
 * first call.
 *
 * @module
 */

import { Mem } from "../../../sdk/memory/mem.ts";
import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { AgentCredential } from "./credential.ts";

/** Options of {@linkcode ClientPool}. */
interface ClientPoolOptions {
  /** Measures how long a client is idle. */
  readonly clock: Clock;
  /** Makes the requests of all clients. */
  readonly fetch: MemFetch;
  /** Called when a credential gets a client. */
  readonly onOpen: (credential: AgentCredential) => void;
}

interface Pooled {
  readonly mem: Mem;
  usedMs: number;
  /** Until when the credential needs no check of its own. */
  goodUntilMs: number;
}

/** Most clients that are kept; one takes some kilobytes. */
const MAX_CLIENTS = 1_024;
/**
 * Milliseconds after which the key of an idle client is overwritten; longer
 * than any call takes.
 */
const IDLE_MS = 1_800_000;
const VERIFIED_MS = 60_000;

/** The clients. */
export class ClientPool {
  readonly #clients = new BoundedMap<string, Pooled>({
    maxEntries: MAX_CLIENTS,
  });
  readonly #options: ClientPoolOptions;
  readonly #clock: Clock;

  /** No clients. */
  constructor(options: ClientPoolOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock);
  }

  /** How many clients there are. */
  get size(): number {
    return this.#clients.size;
  }

  /** Returns the client of a credential. */
  of(credential: AgentCredential): Mem {
    return this.#find(credential).mem;
  }

  /**
   * Asks the relayer who the caller is, at most once a minute: each call is
   * checked by itself, so this only lets a wrong credential show at once.
   *
   * @throws {MemError} When the relayer refuses the credential, or cannot be
   * asked.
   */
  async verify(credential: AgentCredential): Promise<void> {
    const pooled = this.#find(credential);
    if (this.#clock.nowMs() < pooled.goodUntilMs) return;
    await pooled.mem.whoami();
    pooled.goodUntilMs = this.#clock.nowMs() + VERIFIED_MS;
  }

  /** Forgets all clients and overwrites their keys. */
  destroy(): void {
    for (const [, { mem }] of this.#clients) mem.destroy();
    this.#clients.clear();
  }

  #find(credential: AgentCredential): Pooled {
    const nowMs = this.#clock.nowMs();
    this.#dropIdle(nowMs);
    const name = credential.digest.toHex();
    const known = this.#clients.get(name);
    if (known !== undefined) {
      known.usedMs = nowMs;
      return known;
    }
    const mem = Mem.create({
      ...credential.config,
      serverUrl: "http://relayer.internal",
      ranking: "fused",
      fetch: this.#options.fetch,
    });
    const pooled = { mem, usedMs: nowMs, goodUntilMs: -Infinity };
    this.#clients.set(name, pooled);
    this.#options.onOpen(credential);
    return pooled;
  }

  #dropIdle(nowMs: number): void {
    // The clients that were used longest ago come first.
    for (const [name, { mem, usedMs }] of this.#clients) {
      if (nowMs - usedMs < IDLE_MS) return;
      mem.destroy();
      this.#clients.delete(name);
    }
  }
}
