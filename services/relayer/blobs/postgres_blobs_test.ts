import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import type { Pool } from "../../shared/postgres/pool.ts";
import {
  type DataSchema,
  TEST_SERVER,
  withDataSchema,
} from "../store/postgres/testing/data_schema.ts";
import { BlobStoreError, computeBlobId } from "./blob_store.ts";
import { PostgresBlobs } from "./postgres_blobs.ts";
import { testBlobStore } from "./testing/blob_conformance.ts";

/** Blobs on a schema of their own. */
interface BlobSubject extends DataSchema {
  readonly blobs: PostgresBlobs;
  readonly logger: RecordingLogger;
  /** Another relayer's blobs. */
  another(options?: { readonly pool?: Pool }): Promise<PostgresBlobs>;
}

function withBlobs(use: (subject: BlobSubject) => Promise<void>) {
  return withDataSchema(async (schema) => {
    const logger = new RecordingLogger();
    const clock = new FakeClock();
    const all: PostgresBlobs[] = [];
    const another: BlobSubject["another"] = async (
      { pool = schema.connect() } = {},
    ) => {
      const blobs = new PostgresBlobs({ pool, clock, logger });
      all.push(blobs);
      await blobs.start();
      return blobs;
    };
    const blobs = await another();
    await use({ ...schema, blobs, logger, another });
    for (const one of all) await one.stop();
  });
}

function test(name: string, use: (subject: BlobSubject) => Promise<void>) {
  serviceTest(["postgres"], { name, fn: () => withBlobs(use) });
}

const random = new SeededRandom(3);
const SHORT = random.bytes(1_000);
/** Seven parts, the last of which has one byte. */
const LONG = random.bytes(6 * 262_144 + 1);

testBlobStore({
  name: "PostgresBlobs",
  test: (definition) => serviceTest(["postgres"], definition),
  removes: true,
  withStore: (use) => withBlobs(({ blobs }) => use(blobs)),
});

test("PostgresBlobs gives the other relayers what one has stored, of any length", async ({ blobs, another }) => {
  const other = await another();
  for (const length of [262_143, 262_144, 262_145, 524_288, 8_388_608]) {
    const bytes = new Uint8Array(length).fill(length % 251);
    bytes.set(SHORT.subarray(0, 100), length - 100);
    const blobId = await blobs.put(bytes);
    assertEquals(blobId, computeBlobId(bytes));
    const read = await other.get(blobId);
    assert(read.kind === "ok" && computeBlobId(read.bytes) === blobId);
  }
});

test("PostgresBlobs.remove() leaves no row of a blob", async ({ blobs, name, dump }) => {
  for (const bytes of [SHORT, LONG]) {
    const blobId = await blobs.put(bytes);
    assert((await dump()).includes(bytes.subarray(0, 50).toHex()));
    assertEquals(await blobs.isGone(blobId), false);
    assert(await blobs.remove(blobId));
    assertEquals(await blobs.isGone(blobId), true);
    const rows = await TEST_SERVER.sql(`SELECT part FROM ${name}.blob_parts`);
    assertEquals(rows, []);
  }
});

test("PostgresBlobs has no blob whose rows were changed or are missing, tells so, and put() repairs it", async ({ blobs, name, logger }) => {
  for (const bytes of [SHORT, LONG]) {
    const blobId = await blobs.put(bytes);
    const part = bytes === SHORT ? 0 : 3;
    const faults = [
      "UPDATE %s SET bytes = '\\x00' WHERE part = " + part,
      "DELETE FROM %s WHERE part = " + part,
    ];
    for (const fault of faults) {
      await TEST_SERVER.sql(fault.replace("%s", `${name}.blob_parts`));
      assertEquals(await blobs.get(blobId), { kind: "missing" });
      assertEquals(await blobs.put(bytes), blobId);
      assertEquals(await blobs.get(blobId), { kind: "ok", bytes });
    }
    await blobs.remove(blobId);
  }
  assertEquals(logger.lines.map(({ message }) => message), [
    "Cannot read blob: its rows were changed",
    "Cannot read blob: its rows were changed",
  ]);
});

test("PostgresBlobs.put() stores a long blob as a whole or not at all", async ({ blobs, name, another, connect }) => {
  const ending = new AbortController();
  const inner = connect();
  let parts = 0;
  const other = await another({
    pool: {
      query: (...of) => inner.query(...of),
      batch: (...of) => inner.batch(...of),
      close: () => inner.close(),
      transaction: (run, options) =>
        inner.transaction((open) =>
          run({
            commit: (statements) => open.commit(statements),
            async query(...of) {
              const rows = await open.query(...of);
              if (++parts === 3) ending.abort();
              return rows as never;
            },
          }), options),
    },
  });
  const { signal } = ending;
  const error = await assertRejects(
    () => other.put(LONG, { signal }),
    BlobStoreError,
    "the call was ended",
  );
  assert(error.isPassing && !error.isLocal);
  assertEquals(parts, 3);
  assertEquals(
    await TEST_SERVER.sql(`SELECT part FROM ${name}.blob_parts`),
    [],
  );
  assertEquals(await blobs.get(computeBlobId(LONG)), { kind: "missing" });
});

test("PostgresBlobs.put() refuses what is too long for good, and what the database does not take for now", async ({ blobs, name }) => {
  const tooLong = await assertRejects(
    () => blobs.put(new Uint8Array(8_388_609)),
    BlobStoreError,
    "8388608 is the most",
  );
  assertEquals(tooLong.isPassing, false);
  const blobId = await blobs.put(SHORT);
  await TEST_SERVER.sql(`ALTER TABLE ${name}.blob_parts RENAME TO away`);
  const refused = await assertRejects(
    () => blobs.put(SHORT),
    BlobStoreError,
    "Cannot store blob",
  );
  assertEquals(refused.isPassing, true);
  assertEquals((await blobs.get(blobId)).kind, "unavailable");
  assertEquals(await blobs.isGone(blobId), false);
  assertEquals(await blobs.remove(blobId), false);
});

test("PostgresBlobs has one long blob on its way at a time, and reads a few parts of them at once", async ({ another, connect }) => {
  const inner = connect();
  let open = 0;
  let most = 0;
  let longest = 0;
  const blobs = await another({
    pool: {
      async query(sql, ...of) {
        const rows = await inner.query<{ bytes: Uint8Array | null }>(
          sql,
          ...of,
        );
        const length = rows.reduce(
          (sum, row) => sum + (row.bytes?.length ?? 0),
          0,
        );
        longest = Math.max(longest, length);
        return rows as never;
      },
      batch: (...of) => inner.batch(...of),
      close: () => inner.close(),
      async transaction(...of) {
        most = Math.max(most, ++open);
        try {
          return await inner.transaction(...of);
        } finally {
          open--;
        }
      },
    },
  });
  const all = Array.from({ length: 5 }, (_, at) => {
    const bytes = LONG.slice();
    bytes[0] = at;
    return bytes;
  });
  const ids = await Promise.all(all.map((bytes) => blobs.put(bytes)));
  assertEquals(most, 1);
  const got = await Promise.all(ids.map((id) => blobs.get(id)));
  assertEquals(got.map(({ kind }) => kind), all.map(() => "ok"));
  assertEquals(longest, 4 * 262_144);
});

test("PostgresBlobs takes and gives nothing once it is stopped", async ({ blobs }) => {
  const putting = blobs.put(SHORT);
  await blobs.stop();
  const blobId = await putting;
  assertEquals(await blobs.get(blobId), {
    kind: "unavailable",
    reason: "the store is not started",
  });
  await assertRejects(() => blobs.put(SHORT), BlobStoreError);
  assertEquals(await blobs.remove(blobId), false);
});
