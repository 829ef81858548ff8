/**
 * Checks whether everything that the relayer has acknowledged still holds.
 *
 * @module
 */

import {
  getMember,
  readList,
  readText,
  recallAll,
  type WireClient,
} from "../wire_client.ts";
import type { KnownMemories, KnownMemory } from "./known_memories.ts";

/** What is checked, and with which client. */
export interface VerifyContext {
  /** Sends the requests. */
  readonly client: WireClient;
  /** The owner of all memories. */
  readonly owner: string;
  /** The acknowledged memories; faults are added to it. */
  readonly known: KnownMemories;
  /**
   * The longest until accepted jobs are done, in milliseconds.
   *
   * @default {15_000}
   */
  readonly settleMs?: number;
  /**
   * Receives lines about the progress of long checks.
   *
   * @default progress is not reported
   */
  readonly tell?: ((line: string) => void) | undefined;
}

/** Number of jobs in a status request. */
const BULK = 20;
const PAGE = 500;
/** Requests at a time: their nonces share commits, which wait for a standby. */
const AT_A_TIME = 24;
const TELL_EVERY_MS = 20_000;
const SETTLE_MS = 15_000;
const LOOK_EVERY_MS = 50;
/** A text that is found twice is found by two results; most are found first. */
const MAX_RECALLED = 2;

/**
 * Does some work for all items, several at a time, and tells how far it is.
 *
 * @throws what the work throws
 */
export async function forAll<Item>(
  items: readonly Item[],
  { what, tell, work }: {
    /** What is done, for the lines of progress. */
    readonly what: string;
    readonly tell?: ((line: string) => void) | undefined;
    readonly work: (item: Item) => Promise<void>;
  },
): Promise<void> {
  const queue = items.values();
  let done = 0;
  let toldMs = performance.now();
  const workRest = async (): Promise<void> => {
    for (const item of queue) {
      await work(item);
      done++;
      if (performance.now() < toldMs + TELL_EVERY_MS) continue;
      toldMs = performance.now();
      tell?.(`${what}: ${done} of ${items.length}`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, workRest));
}

/** Cuts a list into parts of at most `size` items. */
function parts<Item>(
  items: readonly Item[],
  size: number,
): readonly (readonly Item[])[] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, at) => items.slice(at * size, (at + 1) * size),
  );
}

/**
 * Checks that each of these jobs ends as `done`, unless its memory was deleted.
 */
export async function verifyJobs(
  { client, known, settleMs = SETTLE_MS, tell }: VerifyContext,
  memories: readonly KnownMemory[],
): Promise<void> {
  const endMs = performance.now() + settleMs;
  let open = memories;
  for (;;) {
    const left: KnownMemory[] = [];
    const look = async (part: readonly KnownMemory[]): Promise<void> => {
      const json = await client.expect(200, [
        "POST",
        "/api/remember/bulk/status",
        { job_ids: part.map(({ id }) => id) },
      ]);
      const states = readList(json, "results");
      part.forEach((memory, index) => {
        const status = readText(states[index], "status");
        const blobId = getMember(states[index], "blob_id");
        if (typeof blobId === "string") memory.blobId = blobId;
        memory.isSettled = memory.fate === "deleted"
          ? ["done", "failed", "not_found"].includes(status)
          : status === "done";
        if (memory.isSettled) return;
        left.push(memory);
        if (status === "failed" || status === "not_found") {
          known.fault(`job ${memory.id} is ${JSON.stringify(states[index])}`);
          memory.isSettled = true;
        }
      });
    };
    const what = `asked for jobs, ${BULK} at once`;
    await forAll(parts(open, BULK), { what, tell, work: look });
    open = left.filter(({ isSettled }) => !isSettled);
    if (open.length === 0) return;
    if (performance.now() > endMs) break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  for (const memory of open) {
    known.fault(`job ${memory.id} is stuck`);
    // A stuck job is reported once, and later checks do not wait for it.
    memory.isSettled = true;
  }
}

/** Lists all memories of an owner, by their ids. */
async function listRows(
  { client, owner }: Pick<VerifyContext, "client" | "owner">,
  onTwice: (id: string) => void,
): Promise<ReadonlyMap<string, unknown>> {
  const rows = new Map<string, unknown>();
  let query = `limit=${PAGE}`;
  for (let hasMore = true; hasMore;) {
    const json = await client.expect(200, [
      "GET",
      `/v1/owners/${owner}/memories?${query}`,
    ]);
    for (const row of readList(json, "memories")) {
      const id = readText(row, "memory_id");
      if (rows.has(id)) onTwice(id);
      rows.set(id, row);
    }
    hasMore = getMember(json, "has_more") === true;
    query = `limit=${PAGE}&updated_after=${getMember(json, "next_cursor")}`;
  }
  return rows;
}

/** The ids of the blobs of all memories of an owner. */
export async function listBlobs(
  of: Pick<VerifyContext, "client" | "owner">,
): Promise<readonly string[]> {
  return readBlobs(await listRows(of, () => {}));
}

/**
 * Checks that the list contains exactly the memories that should exist; returns
 * the ids of their blobs.
 */
export async function verifyListing(
  { client, owner, known }: VerifyContext,
): Promise<readonly string[]> {
  const rows = await listRows(
    { client, owner },
    (id) => known.fault(`memory ${id} is listed twice`),
  );
  for (const id of rows.keys()) {
    if (!known.memories.has(id)) known.fault(`nobody asked for memory ${id}`);
  }
  for (const memory of known.memories.values()) {
    const { id, fate, supersedes, supersededBy } = memory;
    const row = rows.get(id);
    if (fate === "deleted" || fate === "forgotten") {
      if (row !== undefined) known.fault(`${fate} memory ${id} is back`);
      continue;
    }
    const expected = [
      fate === "superseded" ? "superseded" : "active",
      supersedes,
      supersededBy,
      memory.namespace,
    ];
    const actual = row === undefined
      ? "missing"
      : ["status", "supersedes", "superseded_by", "namespace_id"].map((name) =>
        getMember(row, name)
      );
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      known.fault(
        `memory ${id} is ${JSON.stringify(actual)} instead of ` +
          JSON.stringify(expected),
      );
    }
  }
  return readBlobs(rows);
}

function readBlobs(rows: ReadonlyMap<string, unknown>): readonly string[] {
  return [...rows.values()].map((row) => readText(row, "blob_id"));
}

/**
 * Checks that recall finds each kept text exactly once, and never one that is
 * deleted or superseded.
 */
export async function verifyRecall(
  { client, known, tell }: VerifyContext,
  memories: readonly KnownMemory[],
): Promise<void> {
  await forAll(memories, {
    ...{ what: "recalled", tell },
    async work({ id, text, namespace, fate }) {
      const json = await recallAll(() =>
        client.expect(200, ["POST", "/api/recall", {
          query: text,
          namespace,
          limit: MAX_RECALLED,
        }])
      );
      const found = readList(json, "results")
        .filter((one) => getMember(one, "text") === text)
        .map((one) => getMember(one, "id"));
      const expected = fate === "kept" ? [id] : [];
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        known.fault(`recall of ${fate} ${id} found ${JSON.stringify(found)}`);
      }
      if (getMember(json, "dropped_count") !== undefined) {
        known.fault(`recall of ${id} dropped ${JSON.stringify(json)}`);
      }
    },
  });
}
