/**
 * A cache of the records that every request reads, such as tenants, keys and
 * workers.
 *
 * Other instances of the service, and commands beside it, change records as
 * well. They tell of it, so that an instance follows within a second; but
 * notices get lost. So a record that was read some seconds ago is read again
 * before it is used, and a request never acts by one that had been replaced
 * five seconds before it came: no revoked key, disabled user, paused worker or
 * suspended tenant outlives that.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { Notice } from "../store/instances.ts";
import type {
  RecordKind,
  Store,
  StoredRecord,
  TransactionResult,
} from "../store/store.ts";
import type { AroundCommit } from "../store/wrapped_store.ts";

/**
 * How long a record is used before it is read again, in milliseconds; a second
 * less than what is promised, so that work that has begun with it can go on.
 */
export const MAX_RECORD_AGE_MS = 4_000;

/** The most records, and the most aliases, that are cached. */
const MAX_ENTRIES = 20_000;

/** The most characters that the cached records have together. */
const MAX_CHARS = 64_000_000;

/** The methods of the store that the cache needs. */
type RecordSource = Pick<
  Store,
  "record" | "recordByAlias" | "tell" | "onNotice"
>;

/** A cached record. */
interface Kept {
  readonly record: StoredRecord;
  /** When the last read began that found it so, by a steady clock. */
  readAtMs: number;
  /** Goes up when others have written it, so that reads from before are old. */
  epoch: number;
  /** The read under way that finds out whether it still is so. */
  reading:
    | {
      readonly begunAtMs: number;
      readonly answer: Promise<StoredRecord | undefined>;
    }
    | undefined;
}

/**
 * A cache of a store's records. Records that are committed through it are
 * removed from the cache, so a read after the commit's answer sees the new
 * state. A record that is found unchanged stays the same object, with all that
 * was derived from it. Missing records are not cached: callers without
 * credentials choose which ones are asked for.
 */
export class RecordCache {
  readonly #source: RecordSource;
  readonly #clock: Clock;
  readonly #records = new BoundedMap<string, Kept>({
    maxEntries: MAX_ENTRIES,
    maxWeight: MAX_CHARS,
    weigh: ({ record: { text } }) => text.length,
  });
  readonly #aliases = new BoundedMap<string, string>({
    maxEntries: MAX_ENTRIES,
  });
  /**
   * Goes up with each change, so that the result of a read that began before is
   * not cached.
   */
  #generation = 0;
  readonly #changes = new Map<RecordKind, number>();
  /** How often notices of others may have been lost. */
  #gaps = 0;

  /** Takes the store, with an empty cache that listens as long as it lives. */
  constructor(source: RecordSource, { clock }: { readonly clock: Clock }) {
    this.#source = source;
    this.#clock = steadyClock(clock);
    source.onNotice((notice) => this.#hear(notice));
  }

  /**
   * Like {@linkcode Store.record}; synchronous when the record is cached.
   *
   * @throws {StoreFailedError} when the store cannot be read, also where an old
   * record is cached: it may be that of a revoked credential
   */
  record(
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): MaybePromise<StoredRecord | undefined> {
    const kept = this.#records.get(formatKey(kind, tenantId, id));
    return kept === undefined
      ? this.#fetch(() => this.#source.record(kind, tenantId, id))
      : this.#current(kept);
  }

  /**
   * A record that is cached, however old, for what may be out of date: whose
   * turn a request takes is no decision about the request.
   */
  recall(
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): StoredRecord | undefined {
    return this.#records.get(formatKey(kind, tenantId, id))?.record;
  }

  /**
   * Like {@linkcode Store.recordByAlias}; synchronous when the record is
   * cached.
   *
   * @throws {StoreFailedError} as {@linkcode RecordCache.record}
   */
  recordByAlias(
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): MaybePromise<StoredRecord | undefined> {
    const ask = (): Promise<StoredRecord | undefined> =>
      this.#fetch(() => this.#source.recordByAlias(kind, tenantId, alias));
    const name = this.#aliases.get(formatKey(kind, tenantId, alias));
    const kept = name === undefined ? undefined : this.#records.get(name);
    if (kept?.record.alias !== alias) return ask();
    // Another record may have the alias by now.
    return andThen(
      this.#current(kept),
      (record) => record?.alias === alias ? record : ask(),
    );
  }

  /**
   * How many writes of a kind there were, as far as this instance knows. Values
   * derived from records that were read after the number was taken are valid
   * while the number stays the same, and for {@linkcode MAX_RECORD_AGE_MS} at
   * most.
   */
  countChanges(kind: RecordKind): number {
    return (this.#changes.get(kind) ?? 0) + this.#gaps;
  }

  /**
   * Commits; removes the written records from the cache, and tells other
   * instances of them.
   */
  commit: AroundCommit = async (transactions, apply) => {
    let results: readonly TransactionResult[] | undefined;
    try {
      results = await apply(transactions);
      return results;
    } finally {
      const notices: Notice[] = [];
      for (const [index, { writes }] of transactions.entries()) {
        // Whether a commit that failed was applied is unknown.
        const mayBeWritten = (results?.[index]?.kind ?? "ok") === "ok";
        for (const write of writes) {
          if (write.kind !== "record") continue;
          const { recordKind, tenantId, id } = write;
          this.#noteChange(recordKind);
          this.#records.delete(formatKey(recordKind, tenantId, id));
          if (!mayBeWritten) continue;
          notices.push({ kind: "record", recordKind, tenantId, id });
        }
      }
      if (notices.length > 0) this.#source.tell(notices);
    }
  };

  /** Has records read again that others have written. */
  #hear(notice: Notice): void {
    if (notice.kind === "record") {
      const { recordKind, tenantId, id } = notice;
      this.#noteChange(recordKind);
      const kept = this.#records.get(formatKey(recordKind, tenantId, id));
      if (kept !== undefined) makeOld(kept);
    } else if (notice.kind === "gap") {
      this.#generation++;
      this.#gaps++;
      for (const [, kept] of this.#records) makeOld(kept);
    }
  }

  #noteChange(kind: RecordKind): void {
    this.#generation++;
    this.#changes.set(kind, (this.#changes.get(kind) ?? 0) + 1);
  }

  /** A cached record, read again when it is old. */
  #current(kept: Kept): MaybePromise<StoredRecord | undefined> {
    const nowMs = this.#clock.nowMs();
    if (nowMs - kept.readAtMs < MAX_RECORD_AGE_MS) return kept.record;
    const { reading } = kept;
    // What a slow read answers may be as old as what is cached may be.
    if (
      reading !== undefined && nowMs - reading.begunAtMs < MAX_RECORD_AGE_MS
    ) return reading.answer;
    const answer = this.#readAgain(kept, nowMs);
    kept.reading = { begunAtMs: nowMs, answer };
    return answer;
  }

  async #readAgain(
    kept: Kept,
    begunAtMs: number,
  ): Promise<StoredRecord | undefined> {
    const { kind, tenantId, id } = kept.record;
    const { epoch } = kept;
    let found: StoredRecord | undefined;
    try {
      found = await this.#source.record(kind, tenantId, id);
    } finally {
      if (kept.reading?.begunAtMs === begunAtMs) kept.reading = undefined;
    }
    const isUnchanged = found !== undefined && isSame(found, kept.record);
    const name = formatKey(kind, tenantId, id);
    // The record may have been written, or left the cache, meanwhile.
    if (kept.epoch === epoch && this.#records.get(name) === kept) {
      if (isUnchanged) kept.readAtMs = Math.max(kept.readAtMs, begunAtMs);
      else {
        this.#noteChange(kind);
        this.#records.delete(name);
        if (found !== undefined) this.#put(found, begunAtMs);
      }
    }
    return isUnchanged ? kept.record : found;
  }

  async #fetch(
    ask: () => Promise<StoredRecord | undefined>,
  ): Promise<StoredRecord | undefined> {
    const generation = this.#generation;
    const begunAtMs = this.#clock.nowMs();
    const record = await ask();
    if (record === undefined || generation !== this.#generation) return record;
    const name = formatKey(record.kind, record.tenantId, record.id);
    const kept = this.#records.get(name);
    if (kept === undefined || !isSame(record, kept.record)) {
      if (kept !== undefined) this.#noteChange(record.kind);
      return this.#put(record, begunAtMs);
    }
    kept.readAtMs = Math.max(kept.readAtMs, begunAtMs);
    this.#nameAlias(kept.record, name);
    return kept.record;
  }

  #put(record: StoredRecord, readAtMs: number): StoredRecord {
    const name = formatKey(record.kind, record.tenantId, record.id);
    this.#records.set(name, {
      ...{ record, readAtMs, epoch: 0, reading: undefined },
    });
    this.#nameAlias(record, name);
    return record;
  }

  #nameAlias({ kind, tenantId, alias }: StoredRecord, name: string): void {
    if (alias === undefined) return;
    this.#aliases.set(formatKey(kind, tenantId, alias), name);
  }
}

/** Has a record read again before it is used, by a read of its own. */
function makeOld(kept: Kept): void {
  kept.readAtMs = -Infinity;
  kept.epoch++;
  kept.reading = undefined;
}

/**
 * Whether a record is as it was. A record that was removed and made again has
 * the version that it had, so the texts are compared as well.
 */
function isSame(one: StoredRecord, other: StoredRecord): boolean {
  return one.version === other.version && one.text === other.text &&
    one.alias === other.alias && one.parentId === other.parentId;
}

/** The cache key of a record; no id and no alias contains a line feed. */
function formatKey(kind: RecordKind, tenantId: string, id: string): string {
  return `${kind}\n${tenantId}\n${id}`;
}
