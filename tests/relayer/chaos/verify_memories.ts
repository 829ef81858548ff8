/**
 * Checks whether everything that the relayer has acknowledged still holds.
 *
 * @module
 */

import {
  getMember,
  readList,
  readText,
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
}

/** Number of jobs in a status request. */
const BULK = 20;
const PAGE = 500;
const RECALLS_AT_A_TIME = 6;
const SETTLE_MS = 15_000;
const LOOK_EVERY_MS = 50;
const MAX_RECALLED = 5;

/**
 * Checks that each of these jobs ends as `done`, unless its memory was deleted.
 */
export async function verifyJobs(
  { client, known, settleMs = SETTLE_MS }: VerifyContext,
  memories: readonly KnownMemory[],
): Promise<void> {
  const endMs = performance.now() + settleMs;
  let open = memories;
  for (;;) {
    const left: KnownMemory[] = [];
    for (let from = 0; from < open.length; from += BULK) {
      const part = open.slice(from, from + BULK);
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
    }
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

/**
 * Checks that the list contains exactly the memories that should exist; returns
 * the ids of their blobs.
 */
export async function verifyListing(
  { client, owner, known }: VerifyContext,
): Promise<readonly string[]> {
  const rows = new Map<string, unknown>();
  let query = `limit=${PAGE}`;
  for (let hasMore = true; hasMore;) {
    const json = await client.expect(200, [
      "GET",
      `/v1/owners/${owner}/memories?${query}`,
    ]);
    for (const row of readList(json, "memories")) {
      const id = readText(row, "memory_id");
      if (rows.has(id)) known.fault(`memory ${id} is listed twice`);
      rows.set(id, row);
    }
    hasMore = getMember(json, "has_more") === true;
    query = `limit=${PAGE}&updated_after=${getMember(json, "next_cursor")}`;
  }
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
  return [...rows.values()].map((row) => readText(row, "blob_id"));
}

/**
 * Checks that recall finds each kept text exactly once, and never one that is
 * deleted or superseded.
 */
export async function verifyRecall(
  { client, known }: VerifyContext,
  memories: readonly KnownMemory[],
): Promise<void> {
  const queue = memories.values();
  const recallRest = async (): Promise<void> => {
    for (const { id, text, namespace, fate } of queue) {
      const json = await client.expect(200, ["POST", "/api/recall", {
        query: text,
        namespace,
        limit: MAX_RECALLED,
      }]);
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
    }
  };
  await Promise.all(Array.from({ length: RECALLS_AT_A_TIME }, recallRest));
}
