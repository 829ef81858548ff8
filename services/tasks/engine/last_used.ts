/**
 * Records when credentials were last used and users last seen, to the minute.
 * Uses are gathered in memory and written once a minute, so that a busy key
 * costs one write a minute. A crash loses the last minute.
 *
 * Each instance writes what it has seen, so a busy key costs one write a minute
 * and instance. Of two that write at once one conflicts and leaves it, as the
 * minute is the same; an earlier minute never replaces a later one.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import type { Caller } from "../access/caller.ts";
import { lastUsedToWrite } from "../access/credential.ts";
import type { Repositories } from "./repositories.ts";
import type { Store, Transaction, Write } from "../store/store.ts";

/** The kinds of records whose last use is recorded. */
type NotedKind = "key" | "credential" | "user";

interface LastUsedOptions {
  /** The store that the uses are written to. */
  readonly store: Pick<Store, "commit">;
  /** The repositories of the records that change. */
  readonly repositories: Pick<Repositories, "keys" | "credentials" | "users">;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Note {
  readonly kind: NotedKind;
  readonly tenantId: string;
  readonly id: string;
  readonly atMs: number;
}

const INTERVAL_MS = 60_000;
/**
 * The most records gathered at once; the use of any other is not recorded until
 * later.
 */
const MAX_NOTES = 10_000;
/** How many records are written at once, so that requests get their turn. */
const BATCH = 200;

/** Gathers uses and writes them once a minute. */
export class LastUsed {
  readonly #options: LastUsedOptions;
  readonly #writing: Periodic;
  #notes = new Map<string, Note>();

  /** Creates the gatherer; {@linkcode start} begins to write. */
  constructor(options: LastUsedOptions) {
    this.#options = options;
    this.#writing = new Periodic({
      clock: options.clock,
      intervalMs: INTERVAL_MS,
      run: () => this.#write(),
      onError: (error) => this.#report(error),
    });
  }

  /**
   * Notes that a caller's credential or user is used now; may be passed on as a
   * function.
   */
  readonly noteCaller = (caller: Caller | undefined): void => {
    switch (caller?.kind) {
      case "api_key":
        return this.note("key", caller.tenantId, caller.keyId);
      case "worker":
        return this.note("credential", caller.tenantId, caller.credentialId);
      case "user":
        return this.note("user", caller.tenantId, caller.userId);
    }
  };

  /** Notes that a record is used now. */
  note(kind: NotedKind, tenantId: string, id: string): void {
    // No id holds a line feed.
    const name = `${kind}\n${tenantId}\n${id}`;
    if (this.#notes.size >= MAX_NOTES && !this.#notes.has(name)) return;
    const atMs = this.#options.clock.nowMs();
    this.#notes.set(name, { kind, tenantId, id, atMs });
  }

  /** Begins to write once a minute. */
  start(): void {
    this.#writing.start();
  }

  /**
   * Writes the remaining uses and stops; the store has to be open until then.
   */
  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.#write().catch((error) => this.#report(error));
  }

  #report(error: unknown): void {
    this.#options.logger.warn(
      "Cannot store when credentials were used: the store failed",
      { error: String(error) },
    );
  }

  async #write(): Promise<void> {
    const notes = [...this.#notes.values()];
    this.#notes = new Map();
    const { store } = this.#options;
    for (let from = 0; from < notes.length; from += BATCH) {
      const batch = notes.slice(from, from + BATCH);
      const writes = await Promise.all(
        batch.map((one) => this.#buildWrite(one)),
      );
      const transactions = writes.flatMap((write): Transaction[] =>
        write === undefined ? [] : [{ writes: [write] }]
      );
      // A record that another request changed meanwhile is written after its
      // next use.
      if (transactions.length > 0) await store.commit(transactions);
    }
  }

  async #buildWrite(
    { kind, tenantId, id, atMs }: Note,
  ): Promise<Write | undefined> {
    const { keys, credentials, users } = this.#options.repositories;
    switch (kind) {
      case "key": {
        const key = await keys.get(tenantId, id);
        const lastUsedAtMs = lastUsedToWrite(key?.lastUsedAtMs, atMs);
        if (key === undefined || lastUsedAtMs === undefined) return undefined;
        const version = key.version + 1;
        return keys.update(key, { ...key, version, lastUsedAtMs });
      }
      case "credential": {
        const own = await credentials.get(tenantId, id);
        const lastUsedAtMs = lastUsedToWrite(own?.lastUsedAtMs, atMs);
        if (own === undefined || lastUsedAtMs === undefined) return undefined;
        const version = own.version + 1;
        return credentials.update(own, { ...own, version, lastUsedAtMs });
      }
      case "user": {
        const user = await users.get(tenantId, id);
        const lastSeenAtMs = lastUsedToWrite(user?.lastSeenAtMs, atMs);
        if (user === undefined || lastSeenAtMs === undefined) return undefined;
        const version = user.version + 1;
        return users.update(user, { ...user, version, lastSeenAtMs });
      }
    }
  }
}
