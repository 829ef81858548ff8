/**
 * Typed access to the records of one kind.
 *
 * @module
 */

import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { RecordKind, Store, StoredRecord, Write } from "../store/store.ts";
import type { RecordCache } from "./record_cache.ts";

/** The members that every value of a repository has. */
export interface RecordValue {
  /** Unique among the tenant's records of the kind. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
}

/** How a repository's values are stored as records. */
interface RecordRepositoryOptions<T extends RecordValue> {
  /** The kind of record. */
  readonly kind: RecordKind;
  /** Returns the id of the tenant that a value belongs to. */
  readonly getTenantId: (value: T) => string;
  /**
   * Returns a second name of a value, unique in the tenant.
   *
   * @default none
   */
  readonly getAlias?: (value: T) => string;
  /**
   * Returns the id of the record that a value belongs to.
   *
   * @default none
   */
  readonly getParentId?: (value: T) => string;
}

/** A page of values. */
interface ValuePage<T> {
  /** The values, in the order of their ids. */
  readonly values: readonly T[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** Which values of a tenant a page holds. */
interface PageOptions {
  /** Returns only values that belong to this record. */
  readonly parentId?: string | undefined;
  /** The most values of the page. */
  readonly limit: number;
  /** Returns only values after this id. */
  readonly afterId?: string | undefined;
}

/** Reads the values of one kind and builds the writes that change them. */
export class RecordRepository<T extends RecordValue> {
  readonly #cache: RecordCache;
  readonly #store: Pick<Store, "records">;
  readonly #options: RecordRepositoryOptions<T>;
  readonly #read = new WeakMap<StoredRecord, T>();

  /** Takes the store and the cache in front of it. */
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

  /**
   * How many writes of this kind there were; see
   * {@linkcode RecordCache.countChanges}.
   */
  get changes(): number {
    return this.#cache.countChanges(this.#options.kind);
  }

  /** The value with an id, or undefined; synchronous when it is cached. */
  get(tenantId: string, id: string): MaybePromise<T | undefined> {
    const { kind } = this.#options;
    return andThen(this.#cache.record(kind, tenantId, id), this.#value);
  }

  /** The value with an id, if it is cached, however old. */
  recall(tenantId: string, id: string): T | undefined {
    return this.#value(this.#cache.recall(this.#options.kind, tenantId, id));
  }

  /** The value with an alias, or undefined; synchronous when it is cached. */
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
      values: page.records.map((record) => this.parse(record)),
      hasMore: page.hasMore,
    };
  }

  /**
   * Reads all of the tenant's values page by page; only those of a parent, if
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

  /**
   * Reads all of the tenant's values at once, for kinds whose number is
   * limited.
   */
  async all(tenantId: string, parentId?: string): Promise<readonly T[]> {
    const values: T[] = [];
    for await (const page of this.pages(tenantId, 1_000, parentId)) {
      values.push(...page);
    }
    return values;
  }

  /** The write that adds a new value, whose version has to be 1. */
  insert(next: T): Write {
    return this.#write(0, next);
  }

  /**
   * The write that replaces `previous` by `next`, whose version has to be one
   * more.
   */
  update(previous: T, next: T): Write {
    return this.#write(previous.version, next);
  }

  /** The write that removes a value. */
  remove(previous: T): Write {
    const { kind, getTenantId } = this.#options;
    return {
      kind: "record",
      recordKind: kind,
      tenantId: getTenantId(previous),
      id: previous.id,
      expectedVersion: previous.version,
      next: undefined,
    };
  }

  /** The write that conflicts unless the value still exists. */
  assertExists(tenantId: string, id: string): Write {
    return { kind: "require", recordKind: this.#options.kind, tenantId, id };
  }

  #write(expectedVersion: number, next: T): Write {
    const { kind, getTenantId, getAlias, getParentId } = this.#options;
    const tenantId = getTenantId(next);
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
        alias: getAlias?.(next),
        parentId: getParentId?.(next),
        text: JSON.stringify(next),
      },
    };
  }

  readonly #value = (record: StoredRecord | undefined): T | undefined =>
    record === undefined ? undefined : this.parse(record);

  /** The value of a record, which may have been read past the cache. */
  parse(record: StoredRecord): T {
    let value = this.#read.get(record);
    if (value === undefined) {
      // Only this repository writes records of its kind, so the text has its
      // type.
      value = JSON.parse(record.text) as T;
      this.#read.set(record, value);
    }
    return value;
  }
}
