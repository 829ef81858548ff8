/**
 * A blob store in a schema of PostgreSQL, so that relayers share no disk. A blob
 * is named by the hash of its bytes, and a long one has several rows.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { GatheredCalls } from "../concurrency/gathered_calls.ts";
import { type Logger, RateLimitedLog } from "../../shared/logger.ts";
import type { Clock } from "../../shared/clock.ts";
import { asStore } from "../../shared/postgres/failure.ts";
import {
  commitToDisk,
  ON_DISK,
  type Pool,
} from "../../shared/postgres/pool.ts";
import type { Rows } from "../../shared/postgres/session.ts";
import type { SqlParameter } from "../../shared/postgres/values.ts";
import { describeError } from "../../shared/settled.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import { BlobCalls, ENDED, refusal, STOPPED } from "./blob_calls.ts";
import {
  type BlobCallOptions,
  type BlobOutcome,
  blobPath,
  type BlobStore,
  BlobStoreError,
  computeBlobId,
} from "./blob_store.ts";

/** Options of {@linkcode PostgresBlobs}. */
interface PostgresBlobsOptions {
  /**
   * Connections whose search path is the schema; its opener closes them.
   * Statements by themselves only read.
   */
  readonly pool: Pool;
  /** Bounds the log. */
  readonly clock: Clock;
  /** Logs changed blobs and failures of the database. */
  readonly logger: Logger;
  /**
   * Throws where a write would not be as durable as promised.
   *
   * @default every write passes
   */
  readonly demandDurable?: (() => void) | undefined;
  /** Largest blob, in bytes. @default {8388608} */
  readonly maxBytes?: number | undefined;
}

interface BlobBytes {
  readonly name: Uint8Array;
  readonly bytes: Uint8Array;
}

/** What a look for a blob finds. */
interface FoundBlob {
  /** How many rows it has. */
  readonly parts: number;
  /** Its bytes, if that is one row. */
  readonly bytes: Uint8Array | null;
}

/** Bytes of a part. A part is in memory as text as well, twice as long. */
const PART_BYTES = 262_144;
/** Most bytes of blobs that one commit stores. */
const MAX_GROUP_BYTES = 1_048_576;
/** Most bytes of blobs that wait. */
const MAX_WAITING_BYTES = 64 * 1_048_576;
/** Most blobs that one statement reads. */
const MAX_READS = 8;
const PARALLEL_READS = 4;
/** Parts of a long blob that one statement reads. */
const PARTS_AT_ONCE = 4;
/**
 * Long blobs that are written, and that are read, at a time: fewer than there are
 * connections, so that others need not wait for them.
 */
const PARALLEL_LONG = 1;

const SQL = {
  // Written again where it is there: it may have been changed, and a removal
  // that is under way must not win over it.
  put: `INSERT INTO blob_parts(blob, part, parts, bytes)
    SELECT name, 0, 1, told FROM unnest($1::bytea[], $2::bytea[])
      AS of(name, told)
    ON CONFLICT (blob, part) DO UPDATE
      SET parts = excluded.parts, bytes = excluded.bytes`,
  putPart: `INSERT INTO blob_parts(blob, part, parts, bytes)
    VALUES($1::bytea, $2::integer, $3::integer, $4::bytea)
    ON CONFLICT (blob, part) DO UPDATE
      SET parts = excluded.parts, bytes = excluded.bytes`,
  get:
    `SELECT blob, parts, CASE WHEN parts = 1 THEN bytes END AS bytes FROM unnest($1::bytea[]) AS of(blob)
    JOIN blob_parts USING (blob) WHERE part = 0`,
  getParts: `SELECT bytes FROM blob_parts WHERE blob = $1::bytea
    AND part >= $2::integer AND part < $3::integer ORDER BY part`,
  isThere: `SELECT EXISTS (SELECT FROM blob_parts WHERE blob = $1::bytea
    AND part = 0) AS there`,
  remove: "DELETE FROM blob_parts WHERE blob = $1::bytea",
};

/** Keeps blobs in a database. */
export class PostgresBlobs implements BlobStore {
  /** Blobs are named by the hash of their bytes. */
  readonly hasHashIds = true;
  readonly #pool: Pool;
  readonly #demandDurable: () => void;
  readonly #logger: Logger;
  readonly #log: RateLimitedLog;
  readonly #calls: BlobCalls;
  readonly #puts: GatheredCalls<BlobBytes, void>;
  readonly #gets: GatheredCalls<Uint8Array, FoundBlob | undefined>;
  readonly #longPuts = new Semaphore(PARALLEL_LONG);
  readonly #longGets = new Semaphore(PARALLEL_LONG);

  /** A store that is not started. */
  constructor(options: PostgresBlobsOptions) {
    const { pool, clock, logger, maxBytes } = options;
    this.#pool = pool;
    this.#demandDurable = options.demandDurable ?? (() => {});
    this.#logger = logger;
    this.#log = new RateLimitedLog(logger, clock);
    this.#calls = new BlobCalls(maxBytes);
    const busy = (): Error => refusal("too many blobs wait");
    this.#puts = new GatheredCalls({
      run: (blobs) => this.#putAll(blobs),
      weigh: ({ bytes }) => bytes.length,
      maxGroupWeight: MAX_GROUP_BYTES,
      maxWaitingWeight: MAX_WAITING_BYTES,
      busy,
    });
    this.#gets = new GatheredCalls({
      run: (names) => this.#getAll(names),
      maxGroup: MAX_READS,
      maxParallel: PARALLEL_READS,
      busy,
    });
  }

  /** Takes calls from now on; the store of memories has made the table. */
  start(): Promise<void> {
    this.#calls.start();
    return Promise.resolve();
  }

  /** Waits for calls that are under way. */
  async stop(): Promise<void> {
    await this.#calls.stop();
  }

  /**
   * Stores a blob, also where it is there.
   *
   * @throws {BlobStoreError} when it is too large, or the database refuses it
   */
  async put(bytes: Uint8Array, options: BlobCallOptions = {}): Promise<string> {
    const { signal } = options;
    const blobId = this.#calls.admit(bytes, options);
    const name = toName(blobId);
    if (name === undefined) {
      throw new TypeError("the id of a blob is not valid");
    }
    try {
      await this.#calls.track(
        bytes.length <= PART_BYTES
          ? this.#puts.call({ name, bytes })
          : this.#longPuts.run(() => this.#putLong({ name, bytes }, options), {
            signal,
          }),
      );
    } catch (error) {
      if (error instanceof BlobStoreError) throw error;
      throw refusal(signal?.aborted ? ENDED : describeError(error));
    }
    return blobId;
  }

  /** Reads a blob and checks its bytes against the id. */
  async get(
    blobId: string,
    options: BlobCallOptions = {},
  ): Promise<BlobOutcome> {
    const { signal } = options;
    const name = toName(blobId);
    if (!this.#calls.isOpen) return { kind: "unavailable", reason: STOPPED };
    if (name === undefined) return { kind: "missing" };
    if (signal?.aborted) return { kind: "unavailable", reason: ENDED };
    try {
      const bytes = await this.#calls.track(this.#get(name, options));
      if (bytes === undefined) return { kind: "missing" };
      if (computeBlobId(bytes) === blobId) return { kind: "ok", bytes };
      this.#logger.error("Cannot read blob: its rows were changed", { blobId });
      return { kind: "missing" };
    } catch (error) {
      if (signal?.aborted) return { kind: "unavailable", reason: ENDED };
      const reason = describeError(error);
      this.#log.warn("Cannot read blob; retrying on the next request", {
        reason,
      });
      return { kind: "unavailable", reason };
    }
  }

  /** Returns whether the blob is known not to exist. */
  async isGone(blobId: string): Promise<boolean> {
    const name = toName(blobId);
    if (name === undefined) return true;
    try {
      const [row] = await this.#query<{ there: boolean }>(SQL.isThere, [name]);
      return row?.there === false;
    } catch {
      // The caller learns the failure from the call that it makes then.
      return false;
    }
  }

  /** Removes all rows of a blob; returns true if none are left. */
  async remove(blobId: string): Promise<boolean> {
    const name = toName(blobId);
    if (name === undefined) return true;
    if (!this.#calls.isOpen) return false;
    try {
      await this.#calls.track(
        asStore(() => {
          this.#demandDurable();
          const statement = { sql: SQL.remove, parameters: [name] };
          return commitToDisk(this.#pool, [statement]);
        }),
      );
      return true;
    } catch (error) {
      this.#log.warn("Cannot remove blob", { reason: describeError(error) });
      return false;
    }
  }

  async #putAll(blobs: readonly BlobBytes[]): Promise<readonly void[]> {
    // Each once, and in one order with other relayers.
    const byName = new Map(blobs.map((one) => [one.name.toHex(), one]));
    const sorted = [...byName.keys()].toSorted().flatMap((name) =>
      byName.get(name) ?? []
    );
    const parameters = [
      sorted.map(({ name }) => name),
      sorted.map(({ bytes }) => bytes),
    ];
    this.#demandDurable();
    await asStore(() =>
      commitToDisk(this.#pool, [{ sql: SQL.put, parameters }])
    );
    return blobs.map(() => undefined);
  }

  /** Stores a long blob part by part, so that one part is text at a time. */
  async #putLong(
    { name, bytes }: BlobBytes,
    { signal }: BlobCallOptions,
  ): Promise<void> {
    this.#demandDurable();
    const parts = Math.ceil(bytes.length / PART_BYTES);
    await asStore(() =>
      this.#pool.transaction(async (open) => {
        for (let part = 0; part < parts; part++) {
          signal?.throwIfAborted();
          const begin = part * PART_BYTES;
          const piece = bytes.subarray(begin, begin + PART_BYTES);
          await open.query(SQL.putPart, [name, part, parts, piece]);
        }
        await open.commit([ON_DISK]);
      })
    );
  }

  async #getAll(
    names: readonly Uint8Array[],
  ): Promise<readonly (FoundBlob | undefined)[]> {
    const rows = await this.#query<FoundBlob & { readonly blob: Uint8Array }>(
      SQL.get,
      [[...new Map(names.map((name) => [name.toHex(), name])).values()]],
    );
    const found = new Map(rows.map((row) => [row.blob.toHex(), row]));
    return names.map((name) => found.get(name.toHex()));
  }

  async #get(
    name: Uint8Array,
    { signal }: BlobCallOptions,
  ): Promise<Uint8Array | undefined> {
    const found = await this.#gets.call(name);
    if (found === undefined) return undefined;
    const { parts, bytes } = found;
    if (bytes !== null) return bytes;
    return await this.#longGets.run(
      () => this.#getLong(name, { parts, signal }),
      { signal },
    );
  }

  async #getLong(
    name: Uint8Array,
    { parts, signal }: BlobCallOptions & { readonly parts: number },
  ): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [];
    while (pieces.length < parts) {
      signal?.throwIfAborted();
      const from = pieces.length;
      const to = Math.min(parts, from + PARTS_AT_ONCE);
      const rows = await this.#query<{ bytes: Uint8Array }>(SQL.getParts, [
        ...[name, from, to],
      ]);
      // It was removed meanwhile.
      if (rows.length < to - from) return undefined;
      pieces.push(...rows.map((row) => row.bytes));
    }
    return new Uint8Array(Buffer.concat(pieces));
  }

  #query<R extends object>(
    sql: string,
    parameters: readonly SqlParameter[],
  ): Promise<Rows<R>> {
    return asStore(() => this.#pool.query<R>(sql, parameters));
  }
}

/** A blob's name in the table; undefined when the id is not valid. */
function toName(blobId: string): Uint8Array | undefined {
  const place = blobPath(blobId);
  return place && Uint8Array.fromHex(place.folder + place.name);
}
