/**
 * Keeps wrapped keys in a schema of PostgreSQL, which several relayers use. Each
 * tells the others which keys are gone.
 *
 * @module
 */

import { GatheredCalls } from "../concurrency/gathered_calls.ts";
import { asStore } from "../../shared/postgres/failure.ts";
import {
  commitToDisk,
  ON_DISK,
  type Pool,
} from "../../shared/postgres/pool.ts";
import type { Rows, Runner } from "../../shared/postgres/session.ts";
import type { Statement } from "../../shared/postgres/transaction.ts";
import type { SqlParameter } from "../../shared/postgres/values.ts";
import { StoreBusyError } from "../store/store.ts";
import type {
  KeyGone,
  KeyNotices,
  KeyRows,
  OwnerKeyRow,
  WrappedDataKey,
  WrappedReceiptKey,
  WrappedRoot,
} from "./key_rows.ts";

/** Options of {@linkcode PostgresKeys}. */
interface PostgresKeysOptions {
  /**
   * Connections with the settings of the schema: statements must follow indexes
   * however small the tables are. Their opener closes them.
   */
  readonly pool: Pool;
  /** The schema, for messages. */
  readonly schema: string;
  /** Carries notices of keys that are gone. */
  readonly notices: KeyNotices;
  /** Is called with keys that are gone, by this relayer or another one. */
  readonly onGone: KeyGone;
  /** Most changes that wait to be written. @default {20000} */
  readonly maxQueued?: number;
  /**
   * Throws where a write would not be as durable as promised.
   *
   * @default every write passes
   */
  readonly demandDurable?: (() => void) | undefined;
}

/** A change of a data key. */
type KeyChange =
  | ({ readonly kind: "add" | "add_missing" | "replace" } & WrappedDataKey)
  | ({ readonly kind: "destroy" } & Pick<WrappedDataKey, "owner" | "keyId">);

type KeyName = Pick<WrappedDataKey, "owner" | "keyId">;

/**
 * With the third of it after which caches have dropped what is older, this is a
 * second: so long is a destroyed key known where the notice was lost.
 */
const MAX_AGE_MS = 750;
const MAX_CHANGES = 500;
const MAX_READS = 200;
const PARALLEL_READS = 4;
const RETRY_MS = 1_000;

const NAMES = "unnest($1::text[], $2::text[]) AS told(owner, key_id)";
const KEYS = "unnest($1::text[], $2::text[], $3::bytea[]) " +
  "AS told(owner, key_id, wrapped)";

const SQL = {
  get: `SELECT owner, key_id, wrapped FROM ${NAMES}
    JOIN data_keys USING (owner, key_id)`,
  add: `INSERT INTO data_keys(owner, key_id, wrapped)
    SELECT owner, key_id, wrapped FROM ${KEYS} ON CONFLICT DO NOTHING
    RETURNING owner, key_id`,
  replace: `UPDATE data_keys AS there SET wrapped = told.wrapped FROM ${KEYS}
    WHERE there.owner = told.owner AND there.key_id = told.key_id`,
  destroy: `DELETE FROM data_keys AS there USING ${NAMES}
    WHERE there.owner = told.owner AND there.key_id = told.key_id
    RETURNING there.owner, there.key_id`,
  roots: "SELECT id, master_id, wrapped FROM roots ORDER BY n",
  // Reading goes on meanwhile.
  lockRoots: "LOCK TABLE roots IN SHARE ROW EXCLUSIVE MODE",
  putRoot: `INSERT INTO roots(id, master_id, wrapped)
    VALUES($1::text, $2::text, $3::bytea)
    ON CONFLICT(id) DO UPDATE SET wrapped = excluded.wrapped`,
  ownerKeys: `SELECT id, encrypted, sealed_public_key, newer_id, wrapped
    FROM owner_keys WHERE owner = $1::text ORDER BY n DESC`,
  putOwnerKey: `INSERT INTO owner_keys
      (owner, id, encrypted, sealed_public_key, newer_id, wrapped)
    VALUES($1::text, $2::text, $3::bytea, $4::bytea, $5::text, $6::bytea)
    ON CONFLICT(owner, id) DO UPDATE
      SET newer_id = excluded.newer_id, wrapped = excluded.wrapped`,
  receiptKeys: "SELECT wrapped, made_ms FROM receipt_keys ORDER BY n",
  lockReceiptKeys: "LOCK TABLE receipt_keys IN SHARE ROW EXCLUSIVE MODE",
  addReceiptKey: `INSERT INTO receipt_keys(wrapped, made_ms)
    SELECT $1::bytea, $2::bigint
    WHERE NOT ($3::boolean AND EXISTS (SELECT FROM receipt_keys))`,
};

/** Keeps wrapped keys, for any number of relayers. */
export class PostgresKeys implements KeyRows {
  /** The schema. */
  readonly place: string;
  /** How long keys that were read may be used. */
  readonly maxAgeMs: number = MAX_AGE_MS;
  readonly #options: PostgresKeysOptions;
  readonly #reads: GatheredCalls<KeyName, Uint8Array | undefined>;
  readonly #changes: GatheredCalls<KeyChange, boolean>;
  readonly #stopListening: () => void;

  /** Uses the tables, which are there, and listens to other relayers. */
  constructor(options: PostgresKeysOptions) {
    const { schema, notices, onGone, maxQueued = 20_000 } = options;
    this.#options = options;
    this.place = `the schema "${schema}"`;
    const busy = (): Error => new StoreBusyError(RETRY_MS);
    this.#reads = new GatheredCalls({
      run: (names) => this.#read(names),
      maxGroup: MAX_READS,
      maxParallel: PARALLEL_READS,
      busy,
    });
    this.#changes = new GatheredCalls({
      run: (changes) => this.#change(changes),
      maxGroup: MAX_CHANGES,
      maxWaiting: maxQueued,
      busy,
    });
    this.#stopListening = notices.listen(({ owner, keyId }) =>
      onGone(owner, keyId)
    );
  }

  /** All root keys, the oldest first. */
  roots(): Promise<readonly WrappedRoot[]> {
    return asStore(() => readRoots(this.#options.pool));
  }

  /** Adds and changes root keys while no other relayer does. */
  async changeRoots(
    decide: (there: readonly WrappedRoot[]) => readonly WrappedRoot[],
  ): Promise<void> {
    const { pool, demandDurable } = this.#options;
    await asStore(() =>
      pool.transaction(async (open) => {
        demandDurable?.();
        await open.query(SQL.lockRoots);
        const roots = decide(await readRoots(open));
        const puts = roots.map(({ id, masterId, wrapped }) => ({
          sql: SQL.putRoot,
          parameters: [id, masterId, wrapped],
        }));
        await open.commit([ON_DISK, ...puts]);
      })
    );
  }

  /** Adds a data key, in one commit with others of about the same time. */
  async add(key: WrappedDataKey): Promise<void> {
    const isNew = await this.#queue({ kind: "add", ...key });
    if (!isNew) throw new Error("Cannot add key: there is one of that id");
  }

  /** Adds a data key unless the owner has one of that id. */
  async addMissing(key: WrappedDataKey): Promise<void> {
    await this.#queue({ kind: "add_missing", ...key });
  }

  /** Reads a data key, in one statement with others of about the same time. */
  async get(owner: string, keyId: string): Promise<Uint8Array | undefined> {
    if (!isText(owner, keyId)) return undefined;
    return await asStore(() => this.#reads.call({ owner, keyId }));
  }

  /** Puts another envelope in the place of a data key, if it is there. */
  async replace(key: WrappedDataKey): Promise<void> {
    await this.#end({ kind: "replace", ...key });
  }

  /** Destroys a data key; true when it was there. */
  async destroy(owner: string, keyId: string): Promise<boolean> {
    if (!isText(owner, keyId)) return false;
    return await this.#end({ kind: "destroy", owner, keyId });
  }

  /** An owner's keys behind key servers, the newest first. */
  async ownerKeys(owner: string): Promise<readonly OwnerKeyRow[]> {
    const rows = await this.#query<{
      readonly id: string;
      readonly encrypted: Uint8Array;
      readonly sealed_public_key: Uint8Array;
      readonly newer_id: string | null;
      readonly wrapped: Uint8Array | null;
    }>(SQL.ownerKeys, [owner]);
    return rows.map((row) => {
      const { id, encrypted, newer_id: newerId, wrapped } = row;
      const sealedPublicKey = row.sealed_public_key;
      const link = newerId === null || wrapped === null
        ? undefined
        : { newerId, wrapped };
      return { owner, id, encrypted, sealedPublicKey, link };
    });
  }

  /** Adds an owner's key, or sets the link of an existing one. */
  async putOwnerKey(key: OwnerKeyRow): Promise<void> {
    const { owner, id, encrypted, sealedPublicKey, link } = key;
    await this.#write([{
      sql: SQL.putOwnerKey,
      parameters: [
        ...[owner, id, encrypted, sealedPublicKey],
        ...[link?.newerId ?? null, link?.wrapped ?? null],
      ],
    }]);
  }

  /** Wrapped keys of receipts, the oldest first. */
  async receiptKeys(): Promise<readonly WrappedReceiptKey[]> {
    const rows = await this.#query<{
      readonly wrapped: Uint8Array;
      readonly made_ms: number;
    }>(SQL.receiptKeys);
    return rows.map(({ wrapped, made_ms: madeAtMs }) => ({
      wrapped,
      madeAtMs,
    }));
  }

  /** Adds a wrapped key of receipts. */
  async addReceiptKey(
    { wrapped, madeAtMs }: WrappedReceiptKey,
    { isFirst }: { readonly isFirst: boolean },
  ): Promise<void> {
    await this.#write([
      { sql: SQL.lockReceiptKeys },
      { sql: SQL.addReceiptKey, parameters: [wrapped, madeAtMs, isFirst] },
    ]);
  }

  /** Writes what waits, and listens no longer. */
  async close(): Promise<void> {
    await this.#changes.idle();
    await this.#reads.idle();
    this.#stopListening();
  }

  #queue(change: KeyChange): Promise<boolean> {
    return asStore(() => this.#changes.call(change));
  }

  /** Makes a change, and has every relayer forget what it has read before. */
  async #end(change: KeyChange): Promise<boolean> {
    const { notices, onGone } = this.#options;
    const { owner, keyId } = change;
    try {
      return await this.#queue(change);
    } finally {
      // After a failure as well: the change may have been made.
      onGone(owner, keyId);
      notices.tell({ kind: "key_gone", owner, keyId });
    }
  }

  async #read(
    names: readonly KeyName[],
  ): Promise<readonly (Uint8Array | undefined)[]> {
    const rows = await this.#options.pool.query<
      { owner: string; key_id: string; wrapped: Uint8Array }
    >(SQL.get, toNames(names));
    const found = new Map(rows.map(({ owner, key_id: keyId, wrapped }) => [
      formatName({ owner, keyId }),
      wrapped,
    ]));
    return names.map((name) => found.get(formatName(name)));
  }

  /**
   * Makes changes in one commit: additions, then replacements, then
   * destructions, so that a key that is destroyed meanwhile does not come back.
   */
  async #change(changes: readonly KeyChange[]): Promise<readonly boolean[]> {
    const kinds = [
      ["add", ["add", "add_missing"]],
      ["replace", ["replace"]],
      ["destroy", ["destroy"]],
    ] as const;
    const statements = kinds.flatMap(([name, of]): Statement[] => {
      // Sorted: relayers that change the same keys wait for each other in one
      // order.
      const found = changes
        .filter(({ kind }) => of.some((one) => one === kind))
        .toSorted((a, b) => formatName(a) < formatName(b) ? -1 : 1);
      if (found.length === 0) return [];
      const wrapped = found.flatMap((one) =>
        one.kind === "destroy" ? [] : [one.wrapped]
      );
      return [{
        sql: SQL[name],
        parameters: [
          ...toNames(found),
          ...(name === "destroy" ? [] : [wrapped]),
        ],
      }];
    });
    const { pool, demandDurable } = this.#options;
    demandDurable?.();
    const answers = await commitToDisk(pool, statements);
    const namesOf = (sql: string): Set<string> =>
      new Set(
        answers[statements.findIndex((one) => one.sql === sql)]?.map((row) =>
          formatName({
            owner: String(row["owner"]),
            keyId: String(row["key_id"]),
          })
        ),
      );
    const added = namesOf(SQL.add);
    const destroyed = namesOf(SQL.destroy);
    // Of the same change several times, one has done it.
    return changes.map((change) =>
      (change.kind === "destroy" ? destroyed : added)
        .delete(formatName(change))
    );
  }

  #query<R extends object>(
    sql: string,
    parameters: readonly SqlParameter[] = [],
  ): Promise<Rows<R>> {
    return asStore(() => this.#options.pool.query<R>(sql, parameters));
  }

  async #write(statements: readonly Statement[]): Promise<void> {
    const { pool, demandDurable } = this.#options;
    demandDurable?.();
    await asStore(() => commitToDisk(pool, statements));
  }
}

async function readRoots(runner: Runner): Promise<readonly WrappedRoot[]> {
  const rows = await runner.query<
    { id: string; master_id: string; wrapped: Uint8Array }
  >(SQL.roots);
  return rows.map(({ id, master_id: masterId, wrapped }) => ({
    ...{ id, masterId, wrapped },
  }));
}

function toNames(
  names: readonly KeyName[],
): [readonly string[], readonly string[]] {
  return [
    names.map(({ owner }) => owner),
    names.map(({ keyId }) => keyId),
  ];
}

/** Ids come from blobs as well, and PostgreSQL takes no character 0. */
function isText(...texts: readonly string[]): boolean {
  return texts.every((text) => !text.includes("\0"));
}

function formatName({ owner, keyId }: KeyName): string {
  return `${keyId} ${owner}`;
}
