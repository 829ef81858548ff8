import { assertEquals } from "@std/assert";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import {
  countSteps,
  RecordingDatabase,
} from "../../../../tests/support/statement_steps.ts";
import { migrate } from "../../../shared/sqlite/migrations.ts";
import type { Change } from "../changes.ts";
import {
  ALICE,
  BOB,
  SAMPLE_MS,
  sampleJob,
  sampleMemory,
} from "../testing/sample_rows.ts";
import { ChangeApplier } from "./change_applier.ts";
import { JobRows } from "./job_rows.ts";
import { ChangeCounter, MemoryFeed, MemoryReads } from "./memory_reads.ts";
import { MemoryWrites } from "./memory_writes.ts";
import { RELAYER_MIGRATIONS } from "./migrations.ts";
import { NamespaceSums } from "./namespace_sums.ts";
import { SideRows, Sweeper } from "./side_rows.ts";
import { SnapshotRows } from "./snapshot_rows.ts";
import { withFolder } from "./testing/open_store.ts";

const [SMALL, LARGE] = [500, Math.min(10_000, countRounds(4_000))];
const MINUTE = SAMPLE_MS / 60_000;
const LIMIT = 50;

const LEASES = {
  ...{ nowMs: SAMPLE_MS, limit: LIMIT, instance: "one", leaseMs: 1_000 },
} as const;

/** A call of the store whose steps are counted. */
type Call = (world: World) => unknown;

const SWEEP = {
  nowMs: SAMPLE_MS,
  finishedJobsBeforeMs: 0,
  tombstonesBeforeMs: 0,
  limit: LIMIT,
} as const;

const CALLS: Readonly<Record<string, Call>> = {
  "a job": ({ jobs }) => jobs.get(ALICE, "job 7"),
  "due jobs": ({ jobs }) => jobs.lease(LEASES),
  "due jobs after others": ({ jobs }) => {
    jobs.lease(LEASES);
    jobs.lease(LEASES);
  },
  "jobs that stay leased": ({ jobs }) =>
    jobs.renew({
      ...LEASES,
      jobs: [{ owner: ALICE, id: "job 7" }],
      untilMs: 0,
    }),
  "deleted jobs": ({ jobs }) =>
    jobs.deleted({ nowMs: LEASES.nowMs, limit: LIMIT }),
  "the next job": ({ jobs }) => jobs.nextMs(),
  "open jobs": ({ jobs }) => jobs.open(ALICE),
  "a claim": ({ sides }) => sides.findClaim(ALICE, "key 7", 0),
  "a row": ({ reads }) => reads.get(ALICE, "memory 7"),
  "rows of all": ({ reads }) => reads.scan({ limit: LIMIT, afterId: "m" }),
  "rows of an owner": ({ reads }) =>
    reads.scan({ limit: LIMIT, owner: ALICE, afterId: "memory 3" }),
  "bad blobs": ({ reads }) => reads.badBlobs(ALICE, ["blob 5"]),
  "a head": ({ feed }) => feed.head(ALICE),
  "what an index lacks": ({ feed }) => feed.lacksRemoval(ALICE, 1),
  "a feed": ({ feed }) => feed.page(ALICE, { limit: LIMIT }),
  "namespaces": ({ sums }) => sums.page(ALICE, { limit: LIMIT }),
  "sums of a namespace": ({ sums }) => sums.stats(ALICE, "one"),
  "sums of an owner": ({ sums }) => sums.stats(ALICE, undefined),
  "agents": ({ sums }) => sums.agents(ALICE),
  "rate windows": ({ sides }) => sides.windows(MINUTE + 1),
  // A sweep stops at its limit, so the tables that it sweeps first have to be
  // empty before the others are measured.
  "sweeping nonces": ({ sweeper }) => sweeper.sweep(SWEEP),
  "sweeping claims": ({ db, sweeper }) => {
    empty(db, ["nonces"]);
    sweeper.sweep(SWEEP);
  },
  "sweeping windows": ({ db, sweeper }) => {
    empty(db, ["nonces", "key_claims"]);
    sweeper.sweep({ ...SWEEP, nowMs: SAMPLE_MS * 2 });
  },
  "sweeping jobs": ({ db, sweeper }) => {
    empty(db, ["nonces", "key_claims"]);
    sweeper.sweep({ ...SWEEP, finishedJobsBeforeMs: SAMPLE_MS * 2 });
  },
  "sweeping tombstones": ({ db, sweeper }) => {
    empty(db, ["nonces", "key_claims"]);
    sweeper.sweep({ ...SWEEP, tombstonesBeforeMs: SAMPLE_MS * 2 });
  },
  "changes": ({ applier }) =>
    applier.apply([
      { kind: "new_job", job: sampleJob({ id: "new" }) },
      { kind: "new_memory", memory: sampleMemory({ id: "new" }) },
      { kind: "remove_memory", owner: ALICE, id: "memory 9" },
      {
        kind: "supersede",
        owner: ALICE,
        id: "memory 12",
        supersededBy: "new",
      },
      { kind: "nonce", nonce: "new", expiresAtMs: SAMPLE_MS },
    ]),
  "a snapshot": ({ snapshots }) => snapshots.get(ALICE),
  "a part of a snapshot": ({ snapshots }) => snapshots.part("snapshot 7", 0),
  "sweeping parts of snapshots": ({ snapshots }) => snapshots.sweep(LIMIT),
  "part of a namespace that goes": ({ memories }) =>
    memories.removeNamespace({ owner: ALICE, namespace: "two" }, {
      nowMs: SAMPLE_MS,
      limit: LIMIT,
    }),
};

serviceTest(["sqlite3"], {
  name:
    "no statement of the relayer's store takes more steps the more there is",
  fn: async () => {
    const [small, large] = [await measure(SMALL), await measure(LARGE)];
    const faults = Object.keys(CALLS).flatMap((call) => {
      const [few = 0, many = 0] = [small.get(call), large.get(call)];
      return many > 2 * few + 500
        ? [`${call}: ${few} steps, ${many} with ${LARGE}`]
        : [];
    });
    assertEquals(faults, []);
  },
});

type World = ReturnType<typeof openWorld>;

/** The steps of each call. */
async function measure(size: number): Promise<ReadonlyMap<string, number>> {
  const steps = new Map<string, number>();
  await withFolder(async (folder) => {
    const path = `${folder}/relayer.db`;
    const world = openWorld(path, size);
    const { db } = world;
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    for (const [name, call] of Object.entries(CALLS)) {
      db.exec("BEGIN");
      db.take();
      call(world);
      const statements = db.take();
      db.exec("ROLLBACK");
      const counted = await countSteps(path, statements);
      steps.set(name, counted.reduce((sum, count) => sum + count, 0));
    }
    db.close();
  });
  return steps;
}

function openWorld(path: string, size: number) {
  const db = new RecordingDatabase(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  migrate(db, {
    nowMs: 0,
    migrations: RELAYER_MIGRATIONS,
    fileName: "relayer.db",
  });
  const nowMs = () => SAMPLE_MS;
  const counter = new ChangeCounter(db, 0);
  const sums = new NamespaceSums(db);
  const jobs = new JobRows(db, () => true);
  const feed = new MemoryFeed(db, counter);
  const sides = new SideRows(db);
  const snapshots = new SnapshotRows(db);
  const memories = new MemoryWrites(db, { counter, sums, snapshots });
  const applier = new ChangeApplier(db, {
    ...{ jobs, memories, sides, snapshots, feed, counter, nowMs },
  });
  db.exec("BEGIN");
  for (let index = 0; index < size; index++) {
    applier.apply(createChanges(index));
  }
  counter.write();
  db.exec("COMMIT");
  return {
    db,
    applier,
    jobs,
    sides,
    sums,
    memories,
    snapshots,
    sweeper: new Sweeper(db, snapshots),
    reads: new MemoryReads(db),
    feed,
  };
}

/** The changes of one index; each table grows in proportion to their number. */
function createChanges(index: number): readonly Change[] {
  const [owner, id] = [index % 5 === 4 ? BOB : ALICE, `memory ${index}`];
  const namespace = index % 2 === 0 ? "one" : "two";
  const job = `job ${index}`;
  const memory = sampleMemory({ id, owner, namespace });
  return [
    { kind: "new_job", job: sampleJob({ id: job, owner }) },
    ...(index % 2 === 0
      ? [{
        kind: "job" as const,
        owner,
        id: job,
        expectedVersion: 1,
        patch: { status: "done" as const },
      }]
      : []),
    { kind: "new_memory", memory },
    ...(index % 3 === 0 ? [{ kind: "remove_memory" as const, owner, id }] : []),
    {
      kind: "claim_key",
      claim: {
        owner,
        key: `key ${index}`,
        fingerprint: "",
        jobIds: [job],
        expiresAtMs: SAMPLE_MS + index % 2 - 1,
      },
    },
    { kind: "nonce", nonce: `nonce ${index}`, expiresAtMs: SAMPLE_MS },
    { kind: "begin_snapshot", owner: `${index}`, name: `snapshot ${index}` },
    {
      kind: "snapshot_part",
      part: { name: `snapshot ${index}`, part: 0, bytes: Uint8Array.of(index) },
    },
    { kind: "bad_blob", owner, blobId: `blob ${index}` },
    {
      kind: "rate",
      window: { minute: MINUTE, name: `name ${index}`, points: 1 },
    },
  ];
}

function empty(db: RecordingDatabase, tables: readonly string[]): void {
  for (const table of tables) db.prepare(`DELETE FROM ${table}`).run();
}
