/**
 * Test cases of several stores on the same data, as instances have them.
 *
 * @module
 */

import { assertEquals, assertNotEquals } from "@std/assert";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../../../tests/support/wait_until.ts";
import type { Change, CommitOutcome } from "../../changes.ts";
import type { Notice, RelayerStore } from "../../store.ts";
import {
  AGENT,
  ALICE,
  BOB,
  SAMPLE_MS,
  sampleJob,
  sampleMemory,
} from "../sample_rows.ts";
import { commitAll, type SeveralStores, type StoreCase } from "./store_case.ts";

type SeveralCase = StoreCase<SeveralStores>;

/** All test cases of several stores. */
export function severalStoresCases(): readonly SeveralCase[] {
  return [
    ...rivalCases(),
    ...feedCases(),
    ...leaseCases(),
    ...snapshotCases(),
    {
      title: "hear what others tell, and know each other",
      async run(subject) {
        const [one, other] = await openStores(subject, 2);
        const heard: Notice[] = [];
        one!.onNotice((notice) => {
          if (notice.kind !== "gap") heard.push(notice);
        });
        const notice: Notice = { kind: "job_ended", owner: ALICE, id: "j" };
        // It may not listen yet: what is told before that is lost.
        await waitUntil(() => {
          other!.tell([notice]);
          return Promise.resolve(heard.length > 0);
        }, { what: "a notice" });
        assertEquals(heard[0], notice);
        await join(one!, "one");
        const answer = await join(other!, "other");
        assertEquals(
          answer.kind === "member" && answer.members.map(({ id }) => id),
          ["one", "other"],
        );
      },
    },
  ];
}

/** Cases in which one of several wins. */
function rivalCases(): readonly SeveralCase[] {
  return [
    {
      title: "take a nonce once, whenever it expires, and again after that",
      async run(subject) {
        const stores = await openStores(subject, 3);
        for (let round = 0; round < 20; round++) {
          const outcomes = await atAll(stores, (index) => [{
            kind: "nonce",
            nonce: `n${round}`,
            expiresAtMs: SAMPLE_MS + 600_000 + index,
          }]);
          assertEquals(countOk(outcomes), 1);
        }
        subject.clock.advance(600_003);
        const expiresAtMs = subject.clock.nowMs() + 600_000;
        const again = await atAll(stores, () => [
          { kind: "nonce", nonce: "n0", expiresAtMs },
        ]);
        assertEquals(countOk(again), 1);
      },
    },
    {
      title: "let one request have a client's key, with its jobs alone",
      async run(subject) {
        const stores = await openStores(subject, 3);
        for (let round = 0; round < 10; round++) {
          const outcomes = await atAll(stores, (index) => {
            const id = `j${round}-${index}`;
            return [
              { kind: "new_job", job: sampleJob({ id }) },
              {
                kind: "claim_key",
                claim: {
                  ...{ owner: ALICE, key: `k${round}`, fingerprint: "f" },
                  ...{ jobIds: [id], expiresAtMs: SAMPLE_MS + 9_000 },
                },
              },
            ];
          });
          assertEquals(countOk(outcomes), 1);
          const claim = await subject.store.keyClaim(
            ALICE,
            `k${round}`,
            SAMPLE_MS,
          );
          const ids = [0, 1, 2].map((index) => `j${round}-${index}`);
          const jobs = await subject.store.jobs(ALICE, ids);
          assertEquals(
            jobs.flatMap((job) => job?.id ?? []),
            claim?.jobIds,
          );
        }
        assertEquals((await subject.store.openJobs(ALICE)).jobs, 10);
      },
    },
    {
      title: "let one change a version of a job",
      async run(subject) {
        const stores = await openStores(subject, 3);
        await commitAll(subject.store, { kind: "new_job", job: sampleJob() });
        for (let version = 1; version < 10; version++) {
          const outcomes = await atAll(stores, (index) => [{
            ...{ kind: "job", owner: ALICE, id: "job-1" },
            expectedVersion: version,
            patch: { attempts: 10 * version + index },
          }]);
          assertEquals(countOk(outcomes), 1);
          const [job] = await subject.store.jobs(ALICE, ["job-1"]);
          const winner = outcomes.findIndex(({ kind }) => kind === "ok");
          assertEquals(job?.attempts, 10 * version + winner);
        }
      },
    },
    {
      title: "add the points of all",
      async run(subject) {
        const stores = await openStores(subject, 3);
        const minute = Math.floor(SAMPLE_MS / 60_000);
        for (let round = 0; round < 10; round++) {
          await atAll(stores, () =>
            ["b", "a"].map((name) => ({
              kind: "rate",
              window: { name, minute, points: 0.5 },
            })));
        }
        assertEquals(
          (await subject.store.rateWindows(minute)).map(({ points }) => points),
          [15, 15],
        );
      },
    },
  ];
}

/** Cases about numbers of changes, and sums over rows. */
function feedCases(): readonly SeveralCase[] {
  return [
    {
      title:
        "show at once, and in the order of numbers, what any has committed",
      async run(subject) {
        const stores = await openStores(subject, 3);
        const follower = stores[2]!;
        const seen = new Set<string>();
        let position = { change: 0 };
        const follow = async (): Promise<void> => {
          for (let hasMore = true; hasMore;) {
            const page = await follower.memoryFeed(ALICE, {
              limit: 4,
              after: position.change === 0 ? undefined : position,
            });
            assertEquals(page.mustResync, false);
            for (const { change } of [...page.memories, ...page.deleted]) {
              assertEquals(change > position.change, true);
            }
            for (const { id } of page.deleted) seen.delete(id);
            for (const { id } of page.memories) seen.add(id);
            hasMore = page.hasMore;
            position = page.next ?? position;
          }
        };
        let isOver = false;
        const following = (async () => {
          while (!isOver) await follow();
        })();
        const random = new SeededRandom(5);
        const writing = stores.map(async (store, index) => {
          for (let round = 0; round < 25; round++) {
            const id = `m${index}-${round}`;
            const memory = sampleMemory({ id, namespace: `n${round % 3}` });
            await commitAll(store, { kind: "new_memory", memory });
            const [row] = await follower.memories(ALICE, [id]);
            const head = await follower.head(ALICE);
            assertEquals(head >= (row?.change ?? Infinity), true);
            if (random.chance(0.4)) {
              await commitAll(store, { ...removal(id) });
            }
          }
        });
        await Promise.all(writing);
        isOver = true;
        await following;
        await follow();
        const rows = await follower.scanMemories({ limit: 999, owner: ALICE });
        assertEquals([...seen].sort(), rows.map(({ id }) => id));
        const numbers = rows.map(({ change }) => change);
        assertEquals(new Set(numbers).size, numbers.length);
      },
    },
    {
      title: "keep sums that are those of the rows, whoever writes them",
      async run(subject) {
        const stores = await openStores(subject, 3);
        const random = new SeededRandom(17);
        const owners = [ALICE, BOB];
        const drawn = (): Change[] => {
          const owner = random.pick(owners);
          const id = `m${random.below(12)}`;
          const namespace = `n${random.below(3)}`;
          const agentId = random.pick([AGENT, "d4", null]);
          const sizeBytes = random.below(100);
          switch (random.below(6)) {
            case 0:
              return [{ kind: "remove_memory", owner, id }];
            case 1:
              return [{ kind: "supersede", owner, id, supersededBy: "new" }];
            case 2:
              return [{
                ...{ kind: "move_blob", owner, id, sizeBytes },
                ...{ fromBlobId: `blob-of-${id}`, blobId: "moved" },
              }];
            case 3:
              return random.chance(0.2)
                ? [{ kind: "remove_namespace", owner, namespace }]
                : [];
            default:
              return [{
                kind: "new_memory",
                memory: sampleMemory({
                  ...{ owner, id, namespace, agentId, sizeBytes },
                }),
              }];
          }
        };
        for (let round = 0; round < 40; round++) {
          // Changes of both owners, so that the order of locks matters.
          await atAll(stores, () => [1, 2, 3, 4].flatMap(drawn));
        }
        for (const owner of owners) await demandSums(subject.store, owner);
      },
    },
    {
      title: "remove a namespace that another one writes to, and its sums",
      async run(subject) {
        const [one, other] = await openStores(subject, 2);
        for (let round = 0; round < 5; round++) {
          const adding = Array.from(
            { length: 20 },
            (_, at) =>
              commitAll(other!, {
                kind: "new_memory",
                memory: sampleMemory({ id: `m${round}-${at}` }),
              }),
          );
          const namespace = "default";
          await Promise.all([
            ...adding,
            commitAll(one!, {
              kind: "remove_namespace",
              owner: ALICE,
              namespace,
            }),
          ]);
          await demandSums(one!, ALICE);
        }
      },
    },
  ];
}

/** Cases about who has a job. */
function leaseCases(): readonly SeveralCase[] {
  return [
    {
      title: "give each job to one",
      async run(subject) {
        const stores = await openStores(subject, 3);
        for (const [index, store] of stores.entries()) {
          await join(store, `i${index}`);
        }
        const ids = Array.from({ length: 90 }, (_, at) => `j${at}`);
        await commitAll(
          subject.store,
          ...ids.map((id) => ({
            kind: "new_job" as const,
            job: sampleJob({ id, owner: id.endsWith("1") ? BOB : ALICE }),
          })),
        );
        const taken: string[] = [];
        await Promise.all(stores.map(async (store, index) => {
          for (let found = -1; found !== 0;) {
            const jobs = await store.leaseJobs({
              ...{ nowMs: SAMPLE_MS, limit: 4, instance: `i${index}` },
              ...{ leaseMs: 60_000, maxBytes: 12 },
            });
            found = jobs.length;
            assertEquals(found <= 3, true);
            taken.push(...jobs.map(({ id }) => id));
          }
        }));
        // A look passes over what another one is just taking.
        assertEquals(new Set(taken).size, taken.length);
        for (let index = 0; index < 3; index++) {
          const rest = await subject.store.leaseJobs({
            ...{ nowMs: SAMPLE_MS, limit: 99, instance: "i0", leaseMs: 60_000 },
          });
          taken.push(...rest.map(({ id }) => id));
        }
        assertEquals(taken.toSorted(), ids.toSorted());
      },
    },
    {
      title: "take over the jobs of one that is gone, and no others",
      async run(subject) {
        const [one, other] = await openStores(subject, 2);
        for (const id of ["a", "b"]) {
          await commitAll(one!, { kind: "new_job", job: sampleJob({ id }) });
        }
        await join(one!, "dies");
        await join(one!, "lives");
        await join(other!, "other");
        const take = async (instance: string, limit = 9) => {
          const jobs = await other!.leaseJobs({
            ...{ nowMs: SAMPLE_MS, limit, instance, leaseMs: 30_000 },
          });
          return jobs.map(({ id }) => id);
        };
        assertEquals(await take("dies", 1), ["a"]);
        assertEquals(await take("lives", 1), ["b"]);
        assertEquals(await take("other"), []);
        await other!.leave("dies");
        assertEquals(await take("other"), ["a"]);
        // Who had it has lost it, and cannot keep it any more.
        await one!.renewLeases({
          ...{ instance: "dies", untilMs: 0 },
          jobs: [{ owner: ALICE, id: "a" }],
        });
        assertEquals(await take("lives"), []);
      },
    },
  ];
}

/** Cases about snapshots with more than one writer. */
function snapshotCases(): readonly SeveralCase[] {
  const of = (owner: string, name: string) =>
    ({
      begin: { kind: "begin_snapshot", owner, name },
      part: {
        kind: "snapshot_part",
        part: { name, part: 0, bytes: new TextEncoder().encode(name) },
      },
      end: { kind: "end_snapshot", owner, name, parts: 1 },
    }) as const;
  const bounds = {
    ...{ nowMs: SAMPLE_MS, limit: 99 },
    ...{ finishedJobsBeforeMs: 0, tombstonesBeforeMs: 0 },
  };
  return [
    {
      title: "have the snapshot that was begun last, whole or not",
      async run(subject) {
        const [one, other] = await openStores(subject, 2);
        await commitAll(one!, { kind: "new_memory", memory: sampleMemory() });
        const [first, second] = [of(ALICE, "s-1"), of(ALICE, "s-2")];
        await commitAll(one!, first.begin);
        await commitAll(one!, first.part);
        await commitAll(other!, second.begin);
        await commitAll(one!, first.end);
        assertEquals(await one!.snapshot(ALICE), undefined);
        await commitAll(other!, second.part);
        // Nobody's sweep takes what is being written, by whomever.
        assertEquals(await one!.sweep(bounds), 1);
        await commitAll(other!, second.end);
        assertEquals((await one!.snapshot(ALICE))?.name, "s-2");
        assertNotEquals(await one!.snapshotPart("s-2", 0), undefined);
        assertEquals(await one!.snapshotPart("s-1", 0), undefined);
        await commitAll(one!, { ...first.end, parts: 0 });
        assertEquals((await one!.snapshot(ALICE))?.name, "s-2");
      },
    },
    {
      title: "have no snapshot that outlives a removal at another one",
      async run(subject) {
        const [one, other] = await openStores(subject, 2);
        for (const id of ["a", "b", "c"]) {
          const memory = sampleMemory({ id });
          await commitAll(one!, { kind: "new_memory", memory });
        }
        const change = await one!.head(ALICE);
        const { begin, part, end } = of(ALICE, "s-1");
        await commitAll(one!, { ...begin, change });
        await commitAll(other!, removal("a"));
        await commitAll(one!, part);
        await commitAll(one!, end);
        assertEquals(await one!.snapshot(ALICE), undefined);
        // An index that has not seen the removal yet.
        const late = of(ALICE, "s-2");
        await commitAll(one!, { ...late.begin, change });
        await commitAll(one!, late.part);
        await commitAll(one!, late.end);
        assertEquals(await other!.snapshot(ALICE), undefined);
        while (await other!.sweep(bounds) > 0) continue;
        for (const name of ["s-1", "s-2"]) {
          assertEquals(await one!.snapshotPart(name, 0), undefined);
        }
      },
    },
  ];
}

function removal(id: string): Change {
  return { kind: "remove_memory", owner: ALICE, id };
}

/** The subject's store and others on the same data. */
async function openStores(
  { store, another }: SeveralStores,
  count: number,
): Promise<readonly RelayerStore[]> {
  const stores = [store];
  while (stores.length < count) stores.push(await another());
  return stores;
}

/** Commits at all stores at the same time. */
function atAll(
  stores: readonly RelayerStore[],
  changes: (index: number) => readonly Change[],
): Promise<readonly CommitOutcome[]> {
  return Promise.all(
    stores.map((store, index) => store.commit(changes(index))),
  );
}

function countOk(outcomes: readonly CommitOutcome[]): number {
  return outcomes.filter(({ kind }) => kind === "ok").length;
}

function join(
  store: RelayerStore,
  id: string,
): ReturnType<RelayerStore["beat"]> {
  const beat = { id, version: "", address: "", wants: [] };
  return store.beat({ ...beat, sinceLastMs: undefined });
}

/** Compares the sums of an owner's namespaces with the rows. */
async function demandSums(store: RelayerStore, owner: string): Promise<void> {
  const rows = await store.scanMemories({ limit: 9_999, owner });
  const { namespaces } = await store.namespaceFeed(owner, { limit: 99 });
  const byNamespace = Map.groupBy(rows, ({ namespace }) => namespace);
  assertEquals(
    namespaces.map(({ name }) => name).toSorted(),
    [...byNamespace.keys()].toSorted(),
  );
  for (const { name, memoryCount, storageBytes, change } of namespaces) {
    const own = byNamespace.get(name) ?? [];
    const bytes = own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const counted = own.filter((row) => row.supersededBy === undefined).length;
    assertEquals([memoryCount, storageBytes], [counted, bytes]);
    assertEquals(own.every((row) => row.change <= change), true);
  }
  const agents = new Set(rows.flatMap(({ agentId }) => agentId ?? []));
  assertEquals(await store.agents(owner), [...agents].toSorted());
}
