/**
 * Typed access to one kind of record, and the cache of records that every request
 * reads.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type {
  RecordKind,
  Store,
  StoredRecord,
  Transaction,
  TransactionResult,
  Write,
} from "../store/store.ts";

/** The members of every value. */
export interface RecordValue {
  /** Unique among the tenant's records of the kind. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
}

/** How values become records. */
interface RecordRepositoryOptions<T extends RecordValue> {
  /** The kind of record. */
  readonly kind: RecordKind;
  /** The tenant a value belongs to. */
  readonly tenantOf: (value: T) => string;
  /**
   * A second name, unique in the tenant.
   * @default none
   */
  readonly aliasOf?: (value: T) => string;
  /**
   * The record it belongs to.
   * @default none
   */
  readonly parentOf?: (value: T) => string;
}

/** A page of values. */
interface ValuePage<T> {
  /** The values, by id. */
  readonly values: readonly T[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** Which values of a page are wanted. */
interface PageOptions {
  /** Only those that belong to this record. */
  readonly parentId?: string | undefined;
  /** Most values of the page. */
  readonly limit: number;
  /** Only those behind this id. */
  readonly afterId?: string | undefined;
}

/** Reads values of one kind and makes the writes that change them. */
export class RecordRepository<T extends RecordValue> {
  readonly #cache: RecordCache;
  readonly #store: Pick<Store, "records">;
  readonly #options: RecordRepositoryOptions<T>;
  readonly #read = new WeakMap<StoredRecord, T>();

  /** A repository over a store and the memory in front of it. */
  constructor(
    parts: {
      readonly cache: RecordCache;
      readonly store: Pick<Store, "records">;
    },
    options: RecordRepositoryOptions<T>,
  ) {
    this.#cache = parts.cache;
    this.#store = parts.store;
    this.#options = options;
  }

  /** How many values were written; see {@linkcode RecordCache.changesOf}. */
  get changes(): number {
    return this.#cache.changesOf(this.#options.kind);
  }

  /** The value of that id, if the tenant has it; at once when it is remembered. */
  get(tenantId: string, id: string): MaybePromise<T | undefined> {
    const { kind } = this.#options;
    return andThen(this.#cache.record(kind, tenantId, id), this.#value);
  }

  /** The value of that alias, if the tenant has it; at once when it is remembered. */
  byAlias(tenantId: string, alias: string): MaybePromise<T | undefined> {
    const { kind } = this.#options;
    return andThen(
      this.#cache.recordByAlias(kind, tenantId, alias),
      this.#value,
    );
  }

  /** A page of the tenant's values. */
  async list(tenantId: string, options: PageOptions): Promise<ValuePage<T>> {
    const { kind } = this.#options;
    const page = await this.#store.records({ kind, tenantId, ...options });
    return {
      values: page.records.map((record) => this.#parse(record)),
      hasMore: page.hasMore,
    };
  }

  /**
   * All of the tenant's values, so many at a time; those of a parent alone, where
   * one is given.
   */
  async *pages(
    tenantId: string,
    limit: number,
    parentId?: string,
  ): AsyncGenerator<readonly T[]> {
    let afterId: string | undefined;
    let hasMore = true;
    while (hasMore) {
      const page = await this.list(tenantId, { limit, parentId, afterId });
      yield page.values;
      afterId = page.values.at(-1)?.id;
      hasMore = page.hasMore;
    }
  }

  /** All of the tenant's values; for kinds whose number a plan or a rule bounds. */
  async all(tenantId: string, parentId?: string): Promise<readonly T[]> {
    const values: T[] = [];
    for await (const page of this.pages(tenantId, 1_000, parentId)) {
      values.push(...page);
    }
    return values;
  }

  /** The write that puts a new value; its version is 1. */
  insert(next: T): Write {
    return this.#write(0, next);
  }

  /**
   * The write that puts `next`, whose version is one more, in the place of
   * `previous`.
   */
  update(previous: T, next: T): Write {
    return this.#write(previous.version, next);
  }

  /** The write that removes a value. */
  remove(previous: T): Write {
    const { kind, tenantOf } = this.#options;
    return {
      kind: "record",
      recordKind: kind,
      tenantId: tenantOf(previous),
      id: previous.id,
      expectedVersion: previous.version,
      next: undefined,
    };
  }

  /** The write that demands that the value is still there. */
  assertExists(tenantId: string, id: string): Write {
    return { kind: "require", recordKind: this.#options.kind, tenantId, id };
  }

  #write(expectedVersion: number, next: T): Write {
    const { kind, tenantOf, aliasOf, parentOf } = this.#options;
    const tenantId = tenantOf(next);
    return {
      kind: "record",
      recordKind: kind,
      tenantId,
      id: next.id,
      expectedVersion,
      next: {
        kind,
        tenantId,
        id: next.id,
        version: next.version,
        alias: aliasOf?.(next),
        parentId: parentOf?.(next),
        text: JSON.stringify(next),
      },
    };
  }

  readonly #value = (record: StoredRecord | undefined): T | undefined =>
    record === undefined ? undefined : this.#parse(record);

  #parse(record: StoredRecord): T {
    let value = this.#read.get(record);
    if (value === undefined) {
      // Only this repository writes records of its kind, so the text is of its type.
      value = JSON.parse(record.text) as T;
      this.#read.set(record, value);
    }
    return value;
  }
}

/** Most records that are kept. */
const MAX_ENTRIES = 20_000;

/** The part of a store that this stands in for. */
type RecordSource = Pick<Store, "record" | "recordByAlias" | "commit">;

/**
 * A cache of a store's records. Records that are committed through it are
 * forgotten, so a read after the commit's answer sees the new state. Absence is
 * not remembered: callers without credentials choose what is looked for.
 */
export class RecordCache {
  readonly #source: RecordSource;
  readonly #records = new BoundedMap<string, StoredRecord>({
    maxEntries: MAX_ENTRIES,
  });
  readonly #aliases = new BoundedMap<string, string>({
    maxEntries: MAX_ENTRIES,
  });
  /** Changes with each commit, so that a read that began before is not kept. */
  #generation = 0;
  readonly #changes = new Map<RecordKind, number>();

  /** A memory in front of `source`. */
  constructor(source: RecordSource) {
    this.#source = source;
  }

  /** As {@linkcode Store.record}; at once when it is remembered. */
  record(
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): MaybePromise<StoredRecord | undefined> {
    return this.#records.get(nameOf(kind, tenantId, id)) ??
      this.#fetch(() => this.#source.record(kind, tenantId, id));
  }

  /** As {@linkcode Store.recordByAlias}; at once when it is remembered. */
  recordByAlias(
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): MaybePromise<StoredRecord | undefined> {
    const name = this.#aliases.get(nameOf(kind, tenantId, alias));
    const known = name === undefined ? undefined : this.#records.get(name);
    if (known?.alias === alias) return known;
    return this.#fetch(() => this.#source.recordByAlias(kind, tenantId, alias));
  }

  /**
   * How many records of a kind were written. While that stays the same, so does
   * whatever was made of what was read after it was asked for.
   */
  changesOf(kind: RecordKind): number {
    return this.#changes.get(kind) ?? 0;
  }

  /** As {@linkcode Store.commit}; forgets what was written. */
  async commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    try {
      return await this.#source.commit(transactions);
    } finally {
      for (const { writes } of transactions) {
        for (const write of writes) {
          if (write.kind !== "record") continue;
          const { recordKind, tenantId, id } = write;
          this.#generation++;
          this.#changes.set(recordKind, this.changesOf(recordKind) + 1);
          this.#records.delete(nameOf(recordKind, tenantId, id));
        }
      }
    }
  }

  async #fetch(
    ask: () => Promise<StoredRecord | undefined>,
  ): Promise<StoredRecord | undefined> {
    const generation = this.#generation;
    const record = await ask();
    if (record !== undefined) this.#keep(record, generation);
    return record;
  }

  #keep(record: StoredRecord, generation: number): void {
    if (generation !== this.#generation) return;
    const name = nameOf(record.kind, record.tenantId, record.id);
    this.#records.set(name, record);
    if (record.alias !== undefined) {
      this.#aliases.set(
        nameOf(record.kind, record.tenantId, record.alias),
        name,
      );
    }
  }
}

/** No id and no alias holds a line feed. */
function nameOf(kind: RecordKind, tenantId: string, id: string): string {
  return `${kind}\n${tenantId}\n${id}`;
}
