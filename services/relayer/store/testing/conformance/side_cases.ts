/**
 * Test cases about clients' idempotency keys, nonces, rate windows, blobs that
 * cannot be restored, and sweeping.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { Change } from "../../changes.ts";
import type { KeyClaim } from "../../rows.ts";
import type { RelayerStore } from "../../store.ts";
import {
  ALICE,
  BOB,
  SAMPLE_MS,
  sampleJob,
  sampleMemory,
} from "../sample_rows.ts";
import { commitAll, type StoreCase } from "./store_case.ts";

const CLAIM: KeyClaim = {
  owner: ALICE,
  key: "r1-key",
  fingerprint: "digest",
  jobIds: ["job-1", "job-2"],
  expiresAtMs: SAMPLE_MS + 1_000,
};

const [ONE, TWO] = [Uint8Array.of(1), Uint8Array.of(2, 2)];

/** What drops the snapshot of Alice, who has the sample's row. */
const SNAPSHOT_ENDS: readonly (readonly [what: string, change: Change])[] = [
  ["a removal", { kind: "remove_memory", owner: ALICE, id: "memory-1" }],
  [
    "the removal of a namespace",
    { kind: "remove_namespace", owner: ALICE, namespace: "default" },
  ],
  ["a new vector", {
    kind: "reindex",
    owner: ALICE,
    id: "memory-1",
    sealedIndex: TWO,
  }],
];

async function sweepAll(store: RelayerStore): Promise<void> {
  const bounds = { finishedJobsBeforeMs: 0, tombstonesBeforeMs: 0, limit: 99 };
  while (await store.sweep({ ...bounds, nowMs: 0 }) > 0) continue;
}

/** All test cases of this file. */
export function sideCases(): readonly StoreCase[] {
  return [
    {
      title: "a key is claimed once by each owner, with its jobs or without",
      async run({ store }) {
        await commitAll(
          store,
          { kind: "claim_key", claim: CLAIM },
          { kind: "new_job", job: sampleJob() },
        );
        assertEquals(await store.keyClaim(ALICE, "r1-key", SAMPLE_MS), CLAIM);
        const again = { ...CLAIM, fingerprint: "other" };
        const outcome = await store.commit([
          { kind: "new_job", job: sampleJob({ id: "job-9" }) },
          { kind: "claim_key", claim: again },
        ]);
        assertEquals(outcome, { kind: "conflict", change: 1 });
        assertEquals(await store.jobs(ALICE, ["job-9"]), [undefined]);
        assertEquals(await store.keyClaim(ALICE, "r1-key", SAMPLE_MS), CLAIM);
        const bobs = { ...again, owner: BOB };
        await commitAll(store, { kind: "claim_key", claim: bobs });
        assertEquals(await store.keyClaim(BOB, "r1-key", SAMPLE_MS), bobs);
        assertEquals(await store.keyClaim(BOB, "none", SAMPLE_MS), undefined);
      },
    },
    {
      title: "a key that has expired is free again",
      async run({ store, clock }) {
        await commitAll(store, { kind: "claim_key", claim: CLAIM });
        clock.advance(1_000);
        const nowMs = clock.nowMs();
        assertEquals(await store.keyClaim(ALICE, "r1-key", nowMs), undefined);
        const claim = { ...CLAIM, jobIds: ["x"], expiresAtMs: nowMs + 9 };
        await commitAll(store, { kind: "claim_key", claim });
        assertEquals(await store.keyClaim(ALICE, "r1-key", nowMs), claim);
      },
    },
    {
      title: "a snapshot is there once it is whole, and after a restart",
      async run({ store, restart }) {
        await commitAll(
          store,
          { kind: "new_memory", memory: sampleMemory() },
          { kind: "begin_snapshot", owner: ALICE, name: "s-1" },
          { kind: "snapshot_part", part: { name: "s-1", part: 0, bytes: ONE } },
        );
        assertEquals(await store.snapshot(ALICE), undefined);
        const { next } = await store.memoryFeed(ALICE, { limit: 9 });
        await commitAll(
          store,
          { kind: "new_memory", memory: sampleMemory({ id: "later" }) },
          { kind: "snapshot_part", part: { name: "s-1", part: 1, bytes: TWO } },
          { kind: "end_snapshot", owner: ALICE, name: "s-1", parts: 2 },
        );
        await restart();
        const snapshot = { name: "s-1", change: next?.change ?? 0, parts: 2 };
        assertEquals(await store.snapshot(ALICE), snapshot);
        assertEquals(await store.snapshot(BOB), undefined);
        assertEquals(await store.snapshotPart("s-1", 0), ONE);
        assertEquals(await store.snapshotPart("s-1", 1), TWO);
        assertEquals(await store.snapshotPart("s-1", 2), undefined);
        await commitAll(
          store,
          { kind: "begin_snapshot", owner: ALICE, name: "s-2" },
        );
        assertEquals(await store.snapshot(ALICE), undefined);
      },
    },
    ...SNAPSHOT_ENDS.map(([what, change]): StoreCase => ({
      title: `a snapshot does not outlive ${what}, and its parts are swept`,
      async run({ store }) {
        await commitAll(
          store,
          { kind: "new_memory", memory: sampleMemory() },
          { kind: "new_memory", memory: sampleMemory({ owner: BOB }) },
        );
        for (const [owner, name] of [[ALICE, "s-1"], [BOB, "s-2"]] as const) {
          const part = { name, part: 0, bytes: ONE };
          await commitAll(
            store,
            { kind: "begin_snapshot", owner, name },
            { kind: "snapshot_part", part },
            { kind: "end_snapshot", owner, name, parts: 1 },
          );
        }
        await commitAll(store, change);
        assertEquals(await store.snapshot(ALICE), undefined);
        assertEquals((await store.snapshot(BOB))?.name, "s-2");
        const ended = { kind: "end_snapshot", owner: ALICE, parts: 1 } as const;
        await commitAll(store, { ...ended, name: "s-1" });
        assertEquals(await store.snapshot(ALICE), undefined);
        await sweepAll(store);
        assertEquals(await store.snapshotPart("s-1", 0), undefined);
        assertEquals(await store.snapshotPart("s-2", 0), ONE);
      },
    })),
    {
      title: "changes that are numbered leave a snapshot as it is",
      async run({ store }) {
        await commitAll(
          store,
          { kind: "new_memory", memory: sampleMemory() },
          { kind: "begin_snapshot", owner: ALICE, name: "s-1" },
          { kind: "end_snapshot", owner: ALICE, name: "s-1", parts: 1 },
          { kind: "new_memory", memory: sampleMemory({ id: "new" }) },
          {
            kind: "supersede",
            owner: ALICE,
            id: "memory-1",
            supersededBy: "new",
          },
        );
        const snapshot = await store.snapshot(ALICE);
        const { memories } = await store.memoryFeed(ALICE, {
          limit: 9,
          after: snapshot,
        });
        assertEquals(memories.map(({ id }) => id), ["new", "memory-1"]);
      },
    },
    {
      title: "nonces and rate windows are there after a restart",
      async run({ store, restart }) {
        const minute = Math.floor(SAMPLE_MS / 60_000);
        await commitAll(
          store,
          { kind: "nonce", nonce: "n-1", expiresAtMs: SAMPLE_MS + 10 },
          { kind: "nonce", nonce: "n-2", expiresAtMs: SAMPLE_MS + 20 },
          { kind: "rate", window: { name: "k", minute, points: 5 } },
          { kind: "rate", window: { name: "k", minute, points: 6.5 } },
          {
            kind: "rate",
            window: { name: "k", minute: minute - 1, points: 1 },
          },
        );
        await commitAll(
          store,
          { kind: "rate", window: { name: "k", minute, points: 0.5 } },
        );
        await restart();
        assertEquals(await store.nonces(SAMPLE_MS + 10), ["n-2"]);
        assertEquals(await store.rateWindows(minute), [
          { name: "k", minute, points: 12 },
        ]);
        assertEquals((await store.rateWindows(minute - 1)).length, 2);
      },
    },
    {
      title: "rateWindowsOf() has the windows of these names and minutes",
      async run({ store }) {
        const minute = Math.floor(SAMPLE_MS / 60_000);
        const window = (name: string, back: number): Change => ({
          kind: "rate",
          window: { name, minute: minute - back, points: back + 1 },
        });
        await commitAll(
          store,
          ...["a", "b", "c"].flatMap((name) => [
            window(name, 0),
            window(name, 1),
            window(name, 61),
          ]),
        );
        const found = await store.rateWindowsOf({
          names: ["c", "a", "nobody"],
          minutes: [minute - 61, minute - 60, minute],
        });
        const seen = found.map(({ name, minute: of, points }) =>
          `${name} ${minute - of} ${points}`
        );
        assertEquals(seen.sort(), ["a 0 1", "a 61 62", "c 0 1", "c 61 62"]);
        const none = { names: [], minutes: [minute] };
        assertEquals(await store.rateWindowsOf(none), []);
      },
    },
    {
      title: "a nonce that is there conflicts, and nothing of its commit stays",
      async run({ store }) {
        const nonce = {
          kind: "nonce",
          nonce: "n-1",
          expiresAtMs: SAMPLE_MS + 10,
        } as const;
        await commitAll(store, nonce);
        const job = sampleJob();
        const outcome = await store.commit([
          { kind: "new_job", job },
          nonce,
          { kind: "nonce", nonce: "n-2", expiresAtMs: SAMPLE_MS + 10 },
        ]);
        assertEquals(outcome, { kind: "conflict", change: 1 });
        assertEquals(await store.jobs(ALICE, [job.id]), [undefined]);
        assertEquals(await store.nonces(SAMPLE_MS), ["n-1"]);
        const outcomes = await Promise.all(
          [1, 2, 3].map(() => store.commit([{ ...nonce, nonce: "n-3" }])),
        );
        // Which of them is the first does not matter.
        assertEquals(outcomes.map(({ kind }) => kind).toSorted(), [
          ...["conflict", "conflict", "ok"],
        ]);
      },
    },
    {
      title:
        "a snapshot of an index that lacks a removal or a new vector comes to nothing",
      async run({ store }) {
        await commitAll(
          store,
          { kind: "new_memory", memory: sampleMemory({ id: "a" }) },
          { kind: "new_memory", memory: sampleMemory({ id: "b" }) },
        );
        const before = await store.head(ALICE);
        await commitAll(
          store,
          { kind: "remove_memory", owner: ALICE, id: "a" },
          { kind: "new_memory", memory: sampleMemory({ id: "c" }) },
        );
        const seen = await store.head(ALICE);
        await commitAll(
          store,
          { kind: "new_memory", memory: sampleMemory({ id: "d" }) },
        );
        const write = async (name: string, change: number) => {
          const of = { name, owner: ALICE } as const;
          await commitAll(store, { ...of, kind: "begin_snapshot", change });
          await commitAll(store, { ...of, kind: "end_snapshot", parts: 1 });
          return await store.snapshot(ALICE);
        };
        assertEquals(await write("s-1", before), undefined);
        const second = { name: "s-2", change: seen, parts: 1 };
        assertEquals(await write("s-2", seen), second);
        const last = await store.head(ALICE);
        await commitAll(store, {
          ...{ kind: "reindex", owner: ALICE, id: "b", sealedIndex: TWO },
        });
        assertEquals(await write("s-3", last), undefined);
        const change = await store.head(ALICE);
        assertEquals(await write("s-4", change), {
          ...{ name: "s-4", change, parts: 1 },
        });
      },
    },
    {
      title: "blobs beyond restoring are noted by owner",
      async run({ store }) {
        const bad = { kind: "bad_blob", owner: ALICE, blobId: "b" } as const;
        await commitAll(store, bad, bad);
        assertEquals(await store.badBlobs(ALICE, ["a", "b"]), new Set(["b"]));
        assertEquals(await store.badBlobs(BOB, ["b"]), new Set());
      },
    },
    {
      title: "sweeping removes what is over, up to the bound, and no more",
      async run({ store, clock }) {
        const minute = Math.floor(SAMPLE_MS / 60_000);
        await commitAll(
          store,
          { kind: "claim_key", claim: CLAIM },
          { kind: "nonce", nonce: "n-1", expiresAtMs: SAMPLE_MS + 10 },
          { kind: "nonce", nonce: "n-2", expiresAtMs: SAMPLE_MS + 3_600_000 },
          {
            kind: "rate",
            window: { name: "k", minute: minute - 200, points: 5 },
          },
          { kind: "rate", window: { name: "k", minute, points: 5 } },
          { kind: "new_job", job: sampleJob({ id: "open" }) },
          {
            kind: "new_job",
            job: sampleJob({ id: "done", status: "done" }),
          },
        );
        clock.advance(60_000);
        await commitAll(store, {
          kind: "new_job",
          job: sampleJob({ id: "late", status: "failed" }),
        });
        const bounds = {
          nowMs: clock.nowMs(),
          finishedJobsBeforeMs: clock.nowMs(),
          tombstonesBeforeMs: 0,
        };
        assertEquals(await store.sweep({ ...bounds, limit: 1 }), 1);
        assertEquals(await store.sweep({ ...bounds, limit: 100 }), 3);
        assertEquals(await store.sweep({ ...bounds, limit: 100 }), 0);
        assertEquals(
          (await store.jobs(ALICE, ["open", "done", "late"]))
            .map((job) => job?.id),
          ["open", undefined, "late"],
        );
        assertEquals(await store.nonces(0), ["n-2"]);
        assertEquals((await store.rateWindows(0)).length, 1);
        const claim = { ...CLAIM, expiresAtMs: clock.nowMs() + 1 };
        await commitAll(store, { kind: "claim_key", claim });
      },
    },
  ];
}
