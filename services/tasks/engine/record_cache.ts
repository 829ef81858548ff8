/**
 * Keeps records that are asked for at every request in memory.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Soon } from "../../shared/settled.ts";
import type { RecordKind, StoredRecord } from "../store/record.ts";
import type { Store, Transaction, TransactionResult } from "../store/store.ts";

/** Most records that are kept. */
const MAX_ENTRIES = 20_000;

/** The part of a store that this stands in for. */
export type RecordSource = Pick<Store, "record" | "recordByAlias" | "commit">;

/**
 * A store's records with a memory. What is committed through it is forgotten,
 * so whoever reads after the commit's answer reads the new state. Absence is
 * not remembered: strangers choose what is looked for.
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
  ): Soon<StoredRecord | undefined> {
    return this.#records.get(nameOf(kind, tenantId, id)) ??
      this.#fetch(() => this.#source.record(kind, tenantId, id));
  }

  /** As {@linkcode Store.recordByAlias}; at once when it is remembered. */
  recordByAlias(
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): Soon<StoredRecord | undefined> {
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
