/**
 * Clients of the crash test: they send requests until the relayer is killed.
 *
 * @module
 */

import { pause } from "../../support/chaos/chaos_service.ts";
import type { SeededRandom } from "../../support/seeded_random.ts";
import {
  getMember,
  readList,
  readText,
  type WireClient,
} from "../wire_client.ts";
import type { ChaosTexts } from "./chaos_texts.ts";
import type {
  KeyedRequest,
  KnownMemories,
  KnownMemory,
} from "./known_memories.ts";

/** What the clients of the crash test share. */
export interface ChaosWorld {
  /** Sends the requests. */
  readonly client: WireClient;
  /** The responses received so far. */
  readonly known: KnownMemories;
  /** Generates the texts that are sent. */
  readonly texts: ChaosTexts;
  /** The source of random choices. */
  readonly random: SeededRandom;
  /** Returns whether clients go on sending. */
  readonly isOpen: () => boolean;
}

const MAX_BULK = 8;
const MAX_PAUSE_MS = 15;
const OUTAGE_PAUSE_MS = 200;
const TAKES = 4;

/** Repeatedly remembers a single text. */
export async function rememberSingles(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    const isAnswered = await sendKeyed(world, world.texts.request(1));
    await pauseAWhile(world, isAnswered);
  }
}

/** Repeatedly remembers several texts in one request. */
export async function rememberBulks(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    const texts = 2 + world.random.below(MAX_BULK - 1);
    const isAnswered = await sendKeyed(world, world.texts.request(texts));
    await pauseAWhile(world, isAnswered);
  }
}

/**
 * Repeatedly deletes an accepted memory, whether or not it is already stored.
 */
export async function deleteSome(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    const memory = pickVictim(
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

/** Repeatedly supersedes a stored memory by a new one. */
export async function replaceSome(world: ChaosWorld): Promise<void> {
  while (world.isOpen()) {
    const memory = pickVictim(world, () => true);
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
 * Sends a request, which stays in `known.open` when it gets no response.
 * Returns whether there was a response.
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
    known.accept(request, readIds(answer.json));
    return true;
  } catch (error) {
    if (!isLost(error)) throw error;
    return false;
  }
}

/** Returns the ids of the jobs in a response. */
export function readIds(json: unknown): readonly string[] {
  return getMember(json, "job_ids") === undefined
    ? [readText(json, "job_id")]
    : readList(json, "job_ids").map(String);
}

/**
 * Deletes a memory, whose id stays in `known.openDeletes` when there is no
 * response. Returns whether there was a response.
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
    // If the response to an earlier attempt was lost, the memory may already be
    // deleted.
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

/**
 * Has a namespace forgotten; its name stays in `known.openForgets` when there is
 * no response.
 */
export async function sendForget(
  { client, known }: Pick<ChaosWorld, "client" | "known">,
  namespace: string,
): Promise<void> {
  try {
    const { status, text } = await client.call("POST", "/api/forget", {
      namespace,
    });
    if (status === 503) return;
    if (status !== 200) {
      known.fault(`forgetting ${namespace} was answered ${status} ${text}`);
    }
    known.forget(namespace);
  } catch (error) {
    if (!isLost(error)) throw error;
  }
}

/**
 * Returns whether an error means that the relayer ended before it had
 * responded.
 */
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
    const status = getMember(json, "status");
    return status === "uploaded" || status === "done";
  } catch (error) {
    if (!isLost(error)) throw error;
    return false;
  }
}

/**
 * Picks a memory that no other client is changing, mostly a recent one;
 * `undefined` when it finds none in a few attempts.
 */
function pickVictim(
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

/** Waits a little; longer after a request without an answer. */
async function pauseAWhile(
  { random }: ChaosWorld,
  isAnswered = true,
): Promise<void> {
  await pause(random.below(isAnswered ? MAX_PAUSE_MS : OUTAGE_PAUSE_MS));
}
