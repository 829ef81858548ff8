/**
 * Random commits of two owners, and all that can be read of them afterwards, for
 * tests that compare stores.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import type { Change } from "../changes.ts";
import type { RelayerStore } from "../store.ts";
import {
  ALICE,
  BOB,
  SAMPLE_MS,
  sampleJob,
  sampleMemory,
} from "./sample_rows.ts";

type JobPatch = Extract<Change, { readonly kind: "job" }>["patch"];

const OWNERS = [ALICE, BOB];
const MINUTE = SAMPLE_MS / 60_000;

/** Picks an item, which may be undefined. */
export function pick<Item>(random: SeededRandom, items: readonly Item[]): Item {
  return items[random.below(items.length)] as Item;
}

/** What changes are drawn for. */
export interface DrawnFor {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The names of the snapshots that were begun last, by owner. */
  readonly names: Map<string, string>;
}

/** A commit of one owner. */
export function drawCommit(
  random: SeededRandom,
  { nowMs, names }: DrawnFor,
): readonly Change[] {
  const owner = pick(random, OWNERS);
  // The first change binds the others to the owner, and so to their order.
  const changes: Change[] = [
    { kind: "bad_blob", owner, blobId: `b${random.below(3)}` },
  ];
  for (let count = 1 + random.below(4); count > 0; count--) {
    changes.push(drawChange(random, { owner, nowMs, names }));
  }
  return changes;
}

function drawChange(
  random: SeededRandom,
  { owner, nowMs, names }: DrawnFor & { readonly owner: string },
): Change {
  const id = `m${random.below(8)}`;
  const namespace = `n${random.below(2)}`;
  const job = `j${random.below(6)}`;
  // Jobs of owners whose commits have no order must not be due together.
  const dueAfter = (ms: number): number =>
    2 * Math.floor((nowMs + ms) / 2) + OWNERS.indexOf(owner);
  switch (random.below(15)) {
    case 0:
    case 1:
      return {
        kind: "new_job",
        job: sampleJob({
          ...{ owner, namespace, id: job },
          payload: random.bytes(1 + random.below(20)),
          nextAttemptAtMs: dueAfter(random.below(500)),
          status: pick(random, ["pending", "running", "done"]),
          supersedes: pick(random, [undefined, "older"]),
        }),
      };
    case 2:
    case 3:
      return {
        ...{ kind: "job", owner, id: job },
        expectedVersion: 1 + random.below(3),
        patch: withoutUndefined({
          status: pick(random, [undefined, "running", "uploaded", "failed"]),
          attempts: pick(random, [undefined, 3]),
          nextAttemptAtMs: pick(random, [undefined, undefined, dueAfter(100)]),
          blobId: pick(random, [undefined, "blob-1"]),
          error: pick(random, [undefined, null, "it's \"\\ so"]),
          payload: pick(random, [undefined, null, random.bytes(3)]),
        }) as JobPatch,
      };
    case 4:
      return {
        kind: "claim_key",
        claim: {
          ...{ owner, key: `k${random.below(3)}`, fingerprint: "f" },
          ...{ jobIds: [job], expiresAtMs: nowMs + random.below(900) },
        },
      };
    case 5:
    case 6:
    case 7:
      return {
        kind: "new_memory",
        memory: sampleMemory({
          ...{ owner, id, namespace, sizeBytes: random.below(1_000) },
          agentId: pick(random, [null, "d4", "e5"]),
          importance: pick(random, [null, 0.25]),
          sealedIndex: random.bytes(random.below(9)),
        }),
      };
    case 8:
      return { kind: "supersede", owner, id, supersededBy: namespace };
    case 9:
      return { kind: "reindex", owner, id, sealedIndex: random.bytes(4) };
    case 10:
      return {
        ...{ kind: "move_blob", owner, id, sizeBytes: random.below(99) },
        ...{ fromBlobId: `blob-of-${id}`, blobId: "moved" },
      };
    case 11:
      return random.chance(0.7)
        ? { kind: "remove_memory", owner, id }
        : { kind: "remove_namespace", owner, namespace };
    case 12:
      return {
        kind: "nonce",
        nonce: `${owner}-${random.below(40)}`,
        expiresAtMs: SAMPLE_MS + 600_000,
      };
    case 13: {
      const points = random.below(8) / 2;
      return { kind: "rate", window: { name: id, minute: MINUTE, points } };
    }
    default: {
      if (random.chance(0.4)) names.set(owner, `s-${random.next()}`);
      const name = names.get(owner) ?? `none of ${owner}`;
      const bytes = random.bytes(3);
      return pick<Change>(random, [
        { kind: "begin_snapshot", owner, name },
        { kind: "snapshot_part", part: { name, part: 0, bytes } },
        { kind: "end_snapshot", owner, name, parts: 1 },
      ]);
    }
  }
}

/**
 * All that can be read of the owners.
 *
 * @param leave the names of members that are left out
 */
export async function describeStore(
  store: RelayerStore,
  nowMs: number,
  leave: readonly string[],
): Promise<unknown> {
  const ids = (letter: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, at) => `${letter}${at}`);
  const owners = await Promise.all(OWNERS.map(async (owner) => {
    const page = await store.memoryFeed(owner, { limit: 99 });
    const { namespaces } = await store.namespaceFeed(owner, { limit: 99 });
    const snapshot = await store.snapshot(owner);
    return {
      // Who had a job is forgotten at any time after its lease.
      jobs: (await store.jobs(owner, ids("j", 6))).map((job) =>
        (job?.leasedUntilMs ?? 0) > nowMs
          ? job
          : job && { ...job, leasedBy: undefined, leasedUntilMs: undefined }
      ),
      open: await store.openJobs(owner),
      memories: await store.memories(owner, ids("m", 8)),
      feed: [page.memories, page.deleted],
      namespaces,
      stats: [await store.stats(owner), await store.stats(owner, "n1")],
      agents: await store.agents(owner),
      badBlobs: [...await store.badBlobs(owner, ids("b", 3))].toSorted(),
      claims: await Promise.all(
        ids("k", 3).map((key) => store.keyClaim(owner, key, nowMs)),
      ),
      snapshot,
      // How much of the feed the snapshot has.
      since: snapshot &&
        (await store.memoryFeed(owner, { limit: 99, after: snapshot }))
          .memories.map(({ id }) => id),
      part: snapshot && await store.snapshotPart(snapshot.name, 0),
    };
  }));
  const all = {
    owners,
    scan: await store.scanMemories({ limit: 99 }),
    counts: await store.memoryOwners({ limit: 9 }),
    count: await store.memoryCount(),
    next: await store.nextJobMs(),
    nonces: (await store.nonces(nowMs)).toSorted(),
    windows: await store.rateWindows(0),
  };
  return withoutUndefined(toPlain(all, leave));
}

/**
 * A value as JSON has it, with bytes as hexadecimal digits.
 *
 * @param leave the names of members that are left out
 */
export function toPlain(
  value: unknown,
  leave: readonly string[] = [],
): unknown {
  const text = JSON.stringify(value, (key, inner) => {
    if (leave.includes(key)) return undefined;
    return inner instanceof Uint8Array ? inner.toHex() : inner;
  });
  return JSON.parse(text);
}
