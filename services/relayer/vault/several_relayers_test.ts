import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { createMasterKey, type MasterKey } from "../../shared/master_keys.ts";
import type { Pool } from "../../shared/postgres/pool.ts";
import { withDataSchema } from "../store/postgres/testing/data_schema.ts";
import type { OpenKeyRows } from "./key_rows.ts";
import { LocalVault } from "./local_vault.ts";
import { PostgresKeys } from "./postgres_keys.ts";
import { sampleContent } from "./testing/open_vault.ts";
import { TestNotices } from "./testing/test_notices.ts";
import { ThresholdWorld } from "./testing/threshold_world.ts";

const ALICE = `0x${"a1".repeat(32)}`;
const GONE = { kind: "failed", why: "key_gone" } as const;
const ENTRY = {
  vector: Float32Array.of(0.5, -1),
  model: "a model",
  metadata: {},
  words: undefined,
};
const [OLD, NEW] = [1, 2].map((seed) =>
  createMasterKey(Uint8Array.from({ length: 32 }, (_, at) => seed * 50 + at))
) as [MasterKey, MasterKey];

/** Relayers on one schema. */
interface Relayers {
  readonly clock: FakeClock;
  readonly notices: TestNotices;
  readonly logger: RecordingLogger;
  /** Starts the vault of another relayer; the first master key seals. */
  start(
    masterKeys: readonly MasterKey[],
    options?: { readonly onQuery?: (sql: string) => void | Promise<void> },
  ): Promise<LocalVault>;
}

/** Registers a test with relayers of their own. */
function test(name: string, use: (relayers: Relayers) => Promise<void>): void {
  serviceTest(["postgres"], {
    name,
    fn: () =>
      withDataSchema(async ({ name: schema, connect }) => {
        const dataFolder = await Deno.makeTempDir();
        const vaults: LocalVault[] = [];
        const clock = new FakeClock();
        const notices = new TestNotices();
        const logger = new RecordingLogger();
        try {
          await use({
            ...{ clock, notices, logger },
            async start(masterKeys, { onQuery } = {}) {
              const pool = watched(connect(), onQuery);
              const vault = new LocalVault({
                ...{ dataFolder, clock, logger, masterKeys },
                openRows: (onGone) =>
                  new PostgresKeys({
                    ...{ pool, schema, onGone },
                    notices: notices.connect(),
                  }),
              });
              vaults.push(vault);
              await vault.start();
              return vault;
            },
          });
        } finally {
          for (const vault of vaults) await vault.stop();
          await Deno.remove(dataFolder, { recursive: true });
        }
      }),
  });
}

/** A pool that calls a function with each statement after it was answered. */
function watched(
  pool: Pool,
  onQuery: (sql: string) => void | Promise<void> = () => {},
): Pool {
  return {
    async query(sql, ...of) {
      const rows = await pool.query(sql, ...of);
      await onQuery(sql);
      return rows as never;
    },
    transaction: (...of) => pool.transaction(...of),
    batch: (...of) => pool.batch(...of),
    close: () => pool.close(),
  };
}

test("a key that one relayer destroys is gone on all of them at once", async ({ start }) => {
  const [one, other] = [await start([OLD]), await start([OLD])];
  const { bytes, keyId } = await one.seal(ALICE, sampleContent());
  assertEquals((await other.open(ALICE, bytes)).kind, "ok");
  assert(await one.destroy(ALICE, keyId));
  assertEquals(await one.open(ALICE, bytes), GONE);
  assertEquals(await other.open(ALICE, bytes), GONE);
  assertEquals(await other.keys.data.secret(ALICE, keyId), "key_gone");
});

test("a key that one relayer destroys is gone on all of them within a second, though notices are lost", async ({ start, clock, notices }) => {
  const [one, other] = [await start([OLD]), await start([OLD])];
  notices.areLost = true;
  const { bytes, keyId } = await one.seal(ALICE, sampleContent());
  assertEquals((await other.open(ALICE, bytes)).kind, "ok");
  await one.destroy(ALICE, keyId);
  // Who has to be certain is told at once.
  assertEquals(await other.open(ALICE, bytes, { isCertain: true }), GONE);
  clock.advance(750);
  assertEquals(await other.open(ALICE, bytes), GONE);
  assertEquals(await one.open(ALICE, bytes), GONE);
});

test("the age of a key counts from when its reading began", async ({ start, clock, notices }) => {
  notices.areLost = true;
  const one = await start([OLD]);
  const other = await start([OLD], {
    onQuery: (sql) => void (sql.includes("data_keys") && clock.advance(500)),
  });
  const { bytes, keyId } = await one.seal(ALICE, sampleContent());
  assertEquals((await other.open(ALICE, bytes)).kind, "ok");
  await one.destroy(ALICE, keyId);
  clock.advance(250);
  assertEquals(await other.open(ALICE, bytes), GONE);
});

test("a key that is destroyed while another relayer reads it is not kept there", async ({ start }) => {
  const one = await start([OLD]);
  const { bytes, keyId } = await one.seal(ALICE, sampleContent());
  let reads = 0;
  const other = await start([OLD], {
    async onQuery(sql) {
      // The row has been read, and the answer is on its way.
      if (!sql.includes("data_keys") || reads++ > 0) return;
      await one.destroy(ALICE, keyId);
    },
  });
  assertEquals(await other.open(ALICE, bytes), GONE);
  assertEquals(reads, 2);
});

test("prepare() reads the keys of several blobs in one statement, and open() none", async ({ start, clock }) => {
  const one = await start([OLD]);
  const sealed = await Promise.all(
    Array.from({ length: 10 }, () => one.seal(ALICE, sampleContent())),
  );
  let reads = 0;
  const other = await start([OLD], {
    onQuery: (sql) => void (sql.includes("data_keys") && reads++),
  });
  await Promise.all(sealed.map(({ bytes }) => other.prepare(ALICE, bytes)));
  assertEquals(reads, 1);
  for (const { bytes } of sealed) {
    assertEquals((await other.open(ALICE, bytes)).kind, "ok");
  }
  assertEquals(reads, 1);
  clock.advance(750);
  await other.open(ALICE, sealed[0]!.bytes);
  assertEquals(reads, 2);
});

test("relayers that start at once have one root key", async ({ start }) => {
  const vaults = await Promise.all(
    Array.from({ length: 4 }, () => start([OLD])),
  );
  const [first] = vaults;
  const { bytes } = await first!.seal(ALICE, sampleContent());
  for (const vault of vaults) {
    assertEquals((await vault.open(ALICE, bytes)).kind, "ok");
    assertEquals(
      await vault.digest(ALICE, "tea"),
      await first!.digest(ALICE, "tea"),
    );
  }
});

test("a new master key comes and the old one goes while others run", async ({ start }) => {
  // Each step is the restart of one of two relayers.
  const before = await start([OLD]);
  const kept = await before.seal(ALICE, sampleContent());
  const digest = await before.digest(ALICE, "tea");
  const knows = await start([OLD, NEW]);
  const seals = await start([NEW, OLD]);
  const byNew = await seals.seal(ALICE, sampleContent());
  const index = await seals.sealIndex(ALICE, ENTRY);
  const part = await seals.sealPart(ALICE, new Uint8Array(9), {
    ...{ name: "s", part: 0 },
  });
  // One that runs learns the root key of the new master key when it meets it.
  assertEquals((await knows.open(ALICE, byNew.bytes)).kind, "ok");
  assertEquals((await knows.openIndex(ALICE, index)).kind, "ok");
  assertEquals(
    (await knows.openPart(ALICE, part, { name: "s", part: 0 })).kind,
    "ok",
  );
  const byOld = await knows.seal(ALICE, sampleContent());
  const last = await start([NEW]);
  for (const { bytes } of [kept, byNew, byOld]) {
    assertEquals((await seals.open(ALICE, bytes)).kind, "ok");
    assertEquals((await last.open(ALICE, bytes)).kind, "ok");
  }
  assertEquals(await last.digest(ALICE, "tea"), digest);
  await assertRejects(() => start([OLD]), Error, "needs the master key");
});

test("a relayer without the new master key does not take for gone what it sealed", async ({ start, logger }) => {
  const before = await start([OLD]);
  const seals = await start([NEW, OLD]);
  const { bytes } = await seals.seal(ALICE, sampleContent());
  const index = await seals.sealIndex(ALICE, ENTRY);
  const later = { kind: "failed", why: "unavailable" } as const;
  assertEquals(await before.open(ALICE, bytes), later);
  assertEquals(await before.openIndex(ALICE, index), later);
  const [line] = logger.lines;
  assertEquals(line?.message, "Cannot open what another relayer has sealed");
});

test("retireKey() leaves no other relayer a key that opens the blob", async ({ start }) => {
  const [one, other] = [await start([OLD]), await start([OLD])];
  const { bytes, keyId } = await one.seal(ALICE, sampleContent());
  assertEquals((await other.open(ALICE, bytes)).kind, "ok");
  const secret = await other.keys.data.secret(ALICE, keyId);
  await one.keys.data.retire(ALICE, keyId);
  assertEquals((await other.open(ALICE, bytes)).kind, "failed");
  assertEquals(await other.keys.data.secret(ALICE, keyId), secret);
  // A second run has nothing to do.
  await other.keys.data.retire(ALICE, keyId);
  assertEquals(await one.keys.data.secret(ALICE, keyId), secret);
});

test("whatever relayers seal, open and destroy at once, what is destroyed opens nowhere and the rest everywhere", async ({ start, clock, notices }) => {
  const random = new SeededRandom(11);
  const vaults = [await start([OLD]), await start([OLD]), await start([OLD])];
  const anyVault = (): LocalVault => vaults[random.below(vaults.length)]!;
  const living = new Map<string, Uint8Array>();
  /** Keys that are gone, and from when on everybody knows. */
  const gone = new Map<string, { bytes: Uint8Array; knownMs: number }>();
  let [opened, refused] = [0, 0];
  const pick = <T>(of: ReadonlyMap<string, T>): [string, T] | undefined =>
    [...of][random.below(Math.max(1, of.size))];
  const step = async (): Promise<void> => {
    const kind = random.below(10);
    if (kind < 2 || living.size === 0) {
      const { bytes, keyId } = await anyVault().seal(ALICE, sampleContent());
      living.set(keyId, bytes);
    } else if (kind < 4) {
      const [keyId, bytes] = pick(living)!;
      living.delete(keyId);
      assert(await anyVault().destroy(ALICE, keyId));
      const knownMs = clock.nowMs() + (notices.areLost ? 750 : 0);
      gone.set(keyId, { bytes, knownMs });
    } else if (kind < 7) {
      const [keyId, bytes] = pick(living)!;
      const { kind } = await anyVault().open(ALICE, bytes);
      // It may have been destroyed by another step meanwhile.
      if (living.has(keyId)) assertEquals([kind, ++opened], ["ok", opened]);
    } else {
      const [, found] = pick(gone) ?? [];
      if (found === undefined) return;
      const isCertain = random.below(2) === 0;
      if (!isCertain && clock.nowMs() < found.knownMs) return;
      const options = { isCertain };
      assertEquals(await anyVault().open(ALICE, found.bytes, options), GONE);
      refused++;
    }
  };
  for (let round = 0; round < 150; round++) {
    notices.areLost = random.below(3) === 0;
    await Promise.all(Array.from({ length: 6 }, step));
    clock.advance(random.below(300));
  }
  assert(opened > 100 && refused > 100, `${opened} ${refused}`);
});

serviceTest(["postgres"], {
  name:
    "a relayer seals with the owner's key that another one has made, a second later at most",
  fn: () =>
    withDataSchema(async ({ name: schema, connect }) => {
      const notices = new TestNotices();
      const openRows: OpenKeyRows = (onGone) =>
        new PostgresKeys({
          ...{ pool: connect(), schema, onGone, notices: notices.connect() },
        });
      await ThresholdWorld.with(async (world) => {
        const other = await world.another();
        const first = await world.keys.current(ALICE);
        assertEquals((await other.keys.current(ALICE)).id, first.id);
        // Access is taken away from a delegate: the next key is made here.
        world.accessCounter++;
        const second = await world.keys.current(ALICE);
        assertNotEquals(second.id, first.id);
        world.clock.advance(750);
        assertEquals((await other.keys.current(ALICE)).id, second.id);
        const { bytes, keyId } = await world.seal(ALICE, sampleContent());
        await world.signIn(ALICE);
        assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
        await other.vault.destroy(ALICE, keyId);
        assertEquals(await world.vault.open(ALICE, bytes), GONE);
      }, { openRows });
    }),
});
