import { assert, assertEquals, assertRejects } from "@std/assert";
import { serviceTest } from "../../../../tests/support/services.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import type { Change } from "../changes.ts";
import { IMPORT_UNDER_WAY, StoreBusyError } from "../store.ts";
import {
  ALICE,
  BOB,
  SAMPLE_MS,
  sampleJob,
  sampleMemory,
} from "../testing/sample_rows.ts";
import {
  severalStoresConformance,
  storeConformance,
} from "../testing/store_conformance.ts";
import { REMOVAL_ROWS } from "./commit_steps.ts";
import type { PostgresStoreOptions } from "./postgres_store.ts";
import {
  openSubject,
  type PostgresSubject,
  TEST_SERVER,
} from "./testing/postgres_subject.ts";

storeConformance(
  "PostgreSQL",
  openSubject,
  (test) => serviceTest(["postgres"], test),
);

severalStoresConformance(
  "PostgreSQL",
  openSubject,
  (test) => serviceTest(["postgres"], test),
);

/** Registers a test of a store on a schema of its own. */
function storeTest(
  name: string,
  run: (subject: PostgresSubject) => Promise<void>,
  options: Partial<PostgresStoreOptions> = {},
): void {
  serviceTest(["postgres"], {
    name,
    async fn() {
      const subject = await openSubject(options);
      try {
        await run(subject);
      } finally {
        await subject.close();
      }
    },
  });
}

const newMemory = (id: string, namespace = "default"): Change => ({
  kind: "new_memory",
  memory: sampleMemory({ id, namespace }),
});

storeTest(
  "PostgresStore.commit() settles the commits of an owner in their order, whatever they do",
  async ({ store }) => {
    const many = Array.from(
      { length: 2 * REMOVAL_ROWS + 500 },
      (_, at) => newMemory(`m${at}`, "work"),
    );
    await store.commit(many);
    const settled: string[] = [];
    const commit = async (name: string, changes: readonly Change[]) => {
      const { kind } = await store.commit(changes);
      settled.push(`${name} ${kind}`);
    };
    const owner = ALICE;
    await Promise.all([
      commit("first", [newMemory("a", "work")]),
      commit("all", [{ kind: "remove_namespace", owner, namespace: "work" }]),
      commit("job", [{ kind: "new_job", job: sampleJob() }]),
      commit("again", [{ kind: "new_job", job: sampleJob() }]),
      commit("last", [newMemory("b")]),
    ]);
    // The rest of a long removal comes after what came meanwhile.
    assertEquals(settled.filter((name) => name !== "all ok"), [
      ...["first ok", "job ok", "again conflict", "last ok"],
    ]);
    assertEquals(await store.stats(owner), { memories: 1, bytes: 100 });
    const short: string[] = [];
    await store.commit([newMemory("c", "work")]);
    await Promise.all(
      ([
        ["remove", { kind: "remove_namespace", owner, namespace: "work" }],
        ["add", newMemory("d", "work")],
      ] as const).map(async ([name, change]) => {
        await store.commit([change]);
        short.push(name);
      }),
    );
    assertEquals(short, ["remove", "add"]);
    assertEquals((await store.stats(owner, "work")).memories, 1);
  },
);

storeTest(
  "PostgresStore.commit() removes several namespaces of an owner at once",
  async ({ store }) => {
    const namespaces = ["a", "b", "c", "d"];
    await store.commit(namespaces.map((one) => newMemory(one, one)));
    const outcomes = await Promise.all(
      namespaces.map((namespace) =>
        store.commit([{ kind: "remove_namespace", owner: ALICE, namespace }])
      ),
    );
    assertEquals(new Set(outcomes.map(({ kind }) => kind)), new Set(["ok"]));
    assertEquals(await store.stats(ALICE), { memories: 0, bytes: 0 });
  },
);

storeTest(
  "PostgresStore.commit() applies a group's other commits where some conflict",
  async ({ store }) => {
    await store.commit([{ kind: "new_job", job: sampleJob({ id: "j3" }) }]);
    const nonce = (name: string): Change => ({
      ...{ kind: "nonce", nonce: name, expiresAtMs: SAMPLE_MS + 9 },
    });
    const outcomes = await Promise.all(
      Array.from({ length: 90 }, (_, at) =>
        store.commit([
          { kind: "bad_blob", owner: ALICE, blobId: `${at}` },
          newMemory(`m${at}`),
          nonce(`n${at % 45}`),
          { kind: "new_job", job: sampleJob({ id: `j${at}` }) },
        ])),
    );
    outcomes.forEach((outcome, at) => {
      const change = at === 3 ? 3 : 2;
      // The nonce of the one whose job conflicts is free for a later one.
      const isOk = at !== 3 && (at < 45 || at === 48);
      assertEquals(
        outcome,
        isOk ? { kind: "ok" } : { kind: "conflict", change },
        `${at}`,
      );
    });
    const rows = await store.scanMemories({ limit: 99, owner: ALICE });
    assertEquals(rows.length, 45);
    assertEquals((await store.stats(ALICE)).memories, 45);
    const bad = await store.badBlobs(ALICE, ["3", "4", "50"]);
    assertEquals([...bad], ["4"]);
  },
);

storeTest(
  "PostgresStore.commit() refuses what there is no room for, and takes it later",
  async ({ store }) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, at) =>
        store.commit([{
          kind: "new_job",
          job: sampleJob({ id: `j${at}`, owner: at % 2 === 0 ? ALICE : BOB }),
        }])),
    );
    const refused = outcomes.flatMap((outcome) =>
      outcome.status === "rejected" ? [outcome.reason] : []
    );
    assert(refused.length > 0 && refused.length < 50);
    for (const error of refused) assert(error instanceof StoreBusyError);
    const open = (await store.openJobs(ALICE)).jobs +
      (await store.openJobs(BOB)).jobs;
    assertEquals(open, 50 - refused.length);
    assertEquals(
      await store.commit([{ kind: "new_job", job: sampleJob({ id: "x" }) }]),
      { kind: "ok" },
    );
  },
  { maxQueuedChanges: 20 },
);

storeTest(
  "PostgresStore.memoryFeed() tells readers to begin anew who have seen what a lost server has given, and nobody else",
  async ({ store, schema }) => {
    const mustResync = async (change: number) =>
      (await store.memoryFeed(ALICE, { limit: 1, after: { change } }))
        .mustResync;
    const lives = 20;
    const heads: number[] = [];
    for (let life = 0; life < lives; life++) {
      await store.commit([newMemory(`m${life}`)]);
      heads.push(await store.head(ALICE));
      // Another server goes on, which may lack what came after.
      await TEST_SERVER.sql(`UPDATE ${schema}.owners SET server = server - 1`);
    }
    await store.commit([newMemory("last")]);
    assertEquals(
      await Promise.all(heads.map((head) => mustResync(head))),
      // The gaps of the last 16 are known.
      heads.map((_, life) => life < lives - 16),
    );
    assertEquals(
      await Promise.all(heads.map((head) => mustResync(head + 1))),
      heads.map(() => true),
    );
    // The only commit of an owner is lost, and all that is known of the owner.
    const memory = sampleMemory({ owner: BOB });
    await store.commit([{ kind: "new_memory", memory }]);
    const lost = { change: await store.head(BOB) };
    for (const table of ["owners", "memories"]) {
      await TEST_SERVER.sql(
        `DELETE FROM ${schema}.${table} WHERE owner = '${BOB}'`,
      );
    }
    const page = await store.memoryFeed(BOB, { limit: 1, after: lost });
    assertEquals(page.mustResync, true);
  },
);

storeTest(
  "PostgresStore.commit() begins the numbers of an owner above all that a lost server can have given",
  async ({ store, schema, clock }) => {
    const seen: number[] = [];
    for (let life = 0; life < 2; life++) {
      clock.advance(400_000_000_000 * life);
      const memory = sampleMemory({ owner: BOB });
      await store.commit([{ kind: "new_memory", memory }]);
      seen.push(await store.head(BOB));
      for (const table of ["owners", "memories"]) {
        await TEST_SERVER.sql(`DELETE FROM ${schema}.${table}`);
      }
    }
    const [lost = 0, later = 0] = seen;
    assert(later > lost, `${seen}`);
  },
);

storeTest(
  "PostgresStore.commit() waits for a commit that has taken a number of the owner before, so that no reader misses it",
  async ({ store, schema, another }) => {
    const other = await another();
    await store.commit([newMemory("a")]);
    const after = { change: await store.head(ALICE) };
    const slow = await TEST_SERVER.session();
    await slow.query(`SET search_path TO ${schema}`);
    await slow.query("BEGIN");
    await slow.query(
      "UPDATE owners SET change = change + 1 WHERE owner = $1::text",
      [ALICE],
    );
    await slow.query(
      "UPDATE memories SET change = owners.change FROM owners " +
        "WHERE memories.owner = owners.owner",
    );
    const committing = store.commit([newMemory("b")]);
    await waitUntil(async () => {
      const waiting = await slow.query(
        "SELECT 1 FROM pg_locks WHERE NOT granted",
      );
      return waiting.length > 0;
    }, { what: "the commit to wait" });
    assertEquals(await other.head(ALICE), after.change);
    const page = await other.memoryFeed(ALICE, { limit: 9, after });
    assertEquals(page.memories, []);
    // Other owners do not wait.
    const memory = sampleMemory({ owner: BOB });
    await other.commit([{ kind: "new_memory", memory }]);
    await slow.query("COMMIT");
    await slow.close();
    assertEquals(await committing, { kind: "ok" });
    const { memories } = await other.memoryFeed(ALICE, { limit: 9, after });
    assertEquals(
      memories.map(({ id, change }) => [id, change - after.change]),
      [["a", 1], ["b", 2]],
    );
  },
);

storeTest(
  "PostgresStore gives large payloads back as they were, and keeps them through changes",
  async ({ store }) => {
    const payload = new Uint8Array(300_000).map((_, at) => at * 7 % 251);
    const sealedIndex = payload.subarray(0, 20_000);
    await store.commit([
      { kind: "new_job", job: sampleJob({ payload }) },
      {
        kind: "new_memory",
        memory: sampleMemory({ sealedIndex }),
      },
    ]);
    for (let version = 1; version < 4; version++) {
      await store.commit([{
        ...{ kind: "job", owner: ALICE, id: "job-1", patch: { attempts: 1 } },
        expectedVersion: version,
      }]);
    }
    const [job] = await store.jobs(ALICE, ["job-1"]);
    assertEquals([job?.version, job?.payload], [4, payload]);
    const [row] = await store.memories(ALICE, ["memory-1"]);
    assertEquals(row?.sealedIndex, sealedIndex);
  },
);

storeTest(
  "PostgresStore lets no instance join beside an import that began after its start",
  async ({ store, schema }) => {
    await TEST_SERVER.sql(`UPDATE ${schema}.numbering SET importing = true`);
    const beat = { id: "boot_1", version: "1", address: "", wants: [] };
    await assertRejects(
      () => store.beat({ ...beat, sinceLastMs: undefined }),
      Error,
      IMPORT_UNDER_WAY,
    );
    await TEST_SERVER.sql(`UPDATE ${schema}.numbering SET importing = false`);
    const other = { ...beat, id: "boot_2", sinceLastMs: undefined };
    const answer = await store.beat(other);
    assertEquals(
      answer.kind === "member" && answer.members.map(({ id }) => id),
      ["boot_2"],
    );
  },
);
