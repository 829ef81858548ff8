/**
 * Clients that send until the relayer dies under them.
 *
 * @module
 */

import type { SeededRandom } from "../../support/seeded_random.ts";
import { listOf, memberOf, textOf, type WireClient } from "../wire_client.ts";
import type { ChaosTexts } from "./chaos_texts.ts";
import type {
  KeyedRequest,
  KnownMemories,
  KnownMemory,
} from "./known_memories.ts";

/** What clients work with. */
export interface ChaosWorld {
  /** Sends. */
  readonly client: WireClient;
  /** What was answered. */
  readonly known: KnownMemories;
  /** Makes what is sent. */
  readonly texts: ChaosTexts;
  /** Chance. */
  readonly random: SeededRandom;
  /** Whether to go on. */
  readonly isOpen: () => boolean;
}

const MAX_BULK = 8;
const MAX_PAUSE_MS = 15;
const TAKES = 4;

/** Sends one text after the other. */
export async function rememberSingles(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    await sendKeyed(world, world.texts.request(1));
    await pauseAWhile(world);
  }
}

/** Sends some texts at a time. */
export async function rememberBulks(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    const texts = 2 + world.random.below(MAX_BULK - 1);
    await sendKeyed(world, world.texts.request(texts));
    await pauseAWhile(world);
  }
}

/** Deletes what was accepted, whether it is stored already or not. */
export async function deleteSome(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    const memory = victimOf(
      world,
      ({ supersedes }) => supersedes === undefined,
    );
    if (memory !== undefined) {
      memory.fate = "deleting";
      await sendDelete(world, memory);
    }
    await pauseAWhile(world);
  }
}

/** Puts newer memories in the place of older ones. */
export async function replaceSome(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    const memory = victimOf(world, () => true);
    if (memory !== undefined) {
      memory.fate = "replacing";
      const isStored = await waitUntilStored(world, memory);
      if (isStored) {
        const request = world.texts.request(1, { supersedes: memory.id });
        await sendKeyed(world, request);
      } else memory.fate = "kept";
    }
    await pauseAWhile(world);
  }
}

/**
 * Sends a request; without an answer it stays open. Tells whether there was one.
 */
export async function sendKeyed(
  { client, known }: Pick<ChaosWorld, "client" | "known">,
  request: KeyedRequest,
): Promise<boolean> {
  known.open.add(request);
  const { key: idempotency_key, texts } = request;
  try {
    const answer = texts.length === 1
      ? await client.call("POST", "/api/remember", {
        ...texts[0],
        idempotency_key,
      })
      : await client.call("POST", "/api/remember/bulk", {
        items: texts,
        idempotency_key,
      });
    if (answer.status === 503) return false;
    if (answer.status !== 202) {
      known.fault(
        `${idempotency_key} was answered ${answer.status} ${answer.text}`,
      );
      known.open.delete(request);
      return true;
    }
    known.accept(request, idsOf(answer.json));
    return true;
  } catch (error) {
    if (!isLost(error)) throw error;
    return false;
  }
}

/** The ids of the jobs in an answer. */
export function idsOf(json: unknown): readonly string[] {
  return memberOf(json, "job_ids") === undefined
    ? [textOf(json, "job_id")]
    : listOf(json, "job_ids").map(String);
}

/**
 * Deletes a memory; without an answer that stays open. Tells whether there was
 * one.
 */
export async function sendDelete(
  { client, known }: Pick<ChaosWorld, "client" | "known">,
  memory: KnownMemory,
): Promise<boolean> {
  const wasTried = known.openDeletes.has(memory.id);
  known.openDeletes.add(memory.id);
  try {
    const { status, text } = await client.call(
      "DELETE",
      `/api/memories/${memory.id}`,
    );
    if (status === 503) return false;
    // What was deleted before the answer got lost is not there to be deleted.
    if (status !== 200 && !(status === 404 && wasTried)) {
      known.fault(`deleting ${memory.id} was answered ${status} ${text}`);
    }
    memory.fate = "deleted";
    known.openDeletes.delete(memory.id);
    return true;
  } catch (error) {
    if (!isLost(error)) throw error;
    return false;
  }
}

/** Waits so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether the relayer went away before it had answered. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || error instanceof Deno.errors.Http ||
    (error instanceof DOMException && error.name === "TimeoutError");
}

async function waitUntilStored(
  { client }: ChaosWorld,
  { id }: KnownMemory,
): Promise<boolean> {
  try {
    const { json } = await client.call("GET", `/api/remember/${id}?wait=5`);
    const status = memberOf(json, "status");
    return status === "uploaded" || status === "done";
  } catch (error) {
    if (!isLost(error)) throw error;
    return false;
  }
}

/** One that nobody does anything with, mostly a late one. */
function victimOf(
  { known, random }: ChaosWorld,
  isFit: (memory: KnownMemory) => boolean,
): KnownMemory | undefined {
  const all = [...known.memories.values()];
  const from = random.chance(0.7) ? Math.max(0, all.length - 30) : 0;
  for (let take = 0; take < TAKES; take++) {
    const memory = all[from + random.below(all.length - from)];
    if (memory?.fate === "kept" && isFit(memory)) return memory;
  }
  return undefined;
}

async function pauseAWhile({ random }: ChaosWorld): Promise<void> {
  await pause(random.below(MAX_PAUSE_MS));
}
