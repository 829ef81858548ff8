/**
 * Makes random calls of a client and describes their results in a form that is
 * the same for the real relayer and the mock: ids are replaced by numbers, and
 * times, sizes and distances are left out.
 *
 * @module
 */

import { type Mem, MemError } from "../../../mod.ts";
import type { SeededRandom } from "../../support/seeded_random.ts";

/** A caller with its own knowledge of memory ids and cursors. */
export class Caller {
  readonly #mem: Mem;
  readonly #ids: string[] = [];
  readonly #blobs: string[] = [];
  readonly #cursors = new Map<string, string>();
  readonly #tick: () => void;

  /**
   * Creates a caller; `tick` is called after each write, so that the next write
   * gets a later time.
   */
  constructor(mem: Mem, tick: () => void) {
    this.#mem = mem;
    this.#tick = tick;
  }

  /** Makes a call; returns a description of its result or of the error. */
  async call(call: RandomCall): Promise<unknown> {
    try {
      return this.#plain(await this.#run(call));
    } catch (error) {
      if (!(error instanceof MemError)) throw error;
      return { refused: error.name, status: error.status };
    }
  }

  async #run(call: RandomCall): Promise<unknown> {
    const mem = this.#mem;
    switch (call.kind) {
      case "remember": {
        const { text, memory, ...options } = call;
        const given = { ...options, supersedes: this.#pickId(memory) };
        const { job_id } = call.isBulk
          ? { job_id: await this.#bulk(text, given) }
          : await mem.remember(text, given);
        this.#note(job_id);
        const end = await mem.waitForRememberJob(job_id)
          .finally(this.#tick);
        return end;
      }
      case "remember_sealed": {
        const { namespace, number } = call;
        const encryptedData = Uint8Array.of(1, number);
        const memory = await mem.rememberManual({
          ...{ encryptedData, namespace },
          vector: createVector(number),
        });
        this.#note(memory.id);
        this.#tick();
        return memory;
      }
      case "recall_sealed": {
        const { namespace, number } = call;
        const { results } = await mem.recallManual({
          ...{ namespace, vector: createVector(number), limit: 100 },
          includeData: true,
        });
        return results.flatMap(({ id, distance, blob_id, encrypted_data }) =>
          distance < 0.5 ? [{ id, blob_id, encrypted_data }] : []
        ).toSorted((one, other) =>
          this.#findNumber(one.id) - this.#findNumber(other.id)
        );
      }
      case "recall":
        return await this.#recall(call);
      case "delete":
        return await mem.deleteMemory(this.#pickId(call.memory) ?? "none");
      case "forget":
        return await mem.forget(call.namespace);
      case "restore":
        return await mem.restore(call.namespace, call.limit);
      case "stats": {
        const { memory_count, storage_bytes } = await mem.stats(call.namespace);
        return { memory_count, isEmpty: storage_bytes === 0 };
      }
      case "status": {
        const id = this.#pickId(call.memory) ?? "none";
        const { results } = await mem.getRememberBulkStatus([id]);
        return [await mem.getRememberStatus(id), results];
      }
      case "list":
        return await this.#list(call);
    }
  }

  async #recall(
    call: Extract<RandomCall, { kind: "recall" }>,
  ): Promise<unknown> {
    const { text: query, namespace, metadata: filter, isRecent, isFused } =
      call;
    const id = this.#pickId(call.memory);
    const { results } = await this.#mem.recall({
      ...{ query, namespace, filter, limit: 100 },
      ids: id === undefined ? undefined : [id],
      sort: isRecent ? "recent" : undefined,
      ranking: isFused ? "fused" : undefined,
      explain: isFused,
    });
    const hits = results.map((hit) => ({
      ...{ id: hit.id, text: hit.text, metadata: hit.metadata },
      matched: hit.explanation?.matched.toSorted(),
      // The relevance itself differs between rankings.
      isRanked: hit.relevance !== undefined,
    }));
    // Which of two memories is closer differs between embedders, so the order
    // is not compared.
    return isRecent
      ? hits
      : hits.toSorted((one, other) => one.text.localeCompare(other.text));
  }

  async #bulk(
    text: string,
    { idempotencyKey, ...notes }: {
      readonly idempotencyKey: string;
      readonly supersedes: string | undefined;
    },
  ): Promise<string> {
    const { job_ids: [id = ""] } = await this.#mem.rememberBulk(
      [{ text, ...notes }],
      { idempotencyKey },
    );
    return id;
  }

  async #list(
    { listing, limit, isFresh }: Extract<RandomCall, { kind: "list" }>,
  ): Promise<unknown> {
    const cursor = isFresh ? undefined : this.#cursors.get(listing);
    const page = listing === "memories"
      ? await this.#mem.listMemories({ cursor, limit })
      : await this.#mem.listNamespaces({ cursor, limit });
    if (page.next_cursor !== null) {
      this.#cursors.set(listing, page.next_cursor);
    }
    return page;
  }

  #note(id: string): void {
    if (!this.#ids.includes(id)) this.#ids.push(id);
  }

  /** Returns the id of one of the known memories, or an unknown id. */
  #pickId(memory: number | undefined): string | undefined {
    if (memory === undefined) return undefined;
    return this.#ids[Math.floor(memory * (this.#ids.length + 1))] ?? "unknown";
  }

  #findNumber(id: string | undefined): number {
    return this.#ids.indexOf(id ?? "");
  }

  /** Removes from a result what differs between any two relayers. */
  #plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#plain(one));
    if (typeof value === "string") return this.#plainText(value);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value)
      .filter(([name]) => !INCOMPARABLE.has(name))
      .map(([name, member]) => [
        name,
        name === "blob_id" ? this.#blobNumber(member) : this.#plain(member),
      ]);
    return Object.fromEntries(entries);
  }

  #plainText(text: string): string {
    const at = this.#ids.indexOf(text);
    return at < 0 ? text : `memory ${at}`;
  }

  #blobNumber(blobId: unknown): unknown {
    if (typeof blobId !== "string" || blobId === "") return blobId;
    const known = this.#blobs.indexOf(blobId);
    return `blob ${known < 0 ? this.#blobs.push(blobId) - 1 : known}`;
  }
}

const WIDTH = 1_536;

/** Returns a vector that differs from that of every other number. */
function createVector(number: number): readonly number[] {
  return Array.from({ length: WIDTH }, (_, at) => at === number ? 1 : 0);
}

const INCOMPARABLE: ReadonlySet<string> = new Set([
  ...["owner", "agent_id", "package_id", "next_cursor"],
  ...["created_at", "updated_at", "deleted_at", "size", "storage_used"],
  // The fields of receipts that depend on keys and times.
  ...["key_id", "signature", "time_ms", "content_hash", "content_salt"],
  // The text of a failed job, which differs between the relayer and the mock.
  "error",
]);

type Metadata = Readonly<Record<string, number>>;

/**
 * A call; `memory` selects one of the known memories by a number from 0 up to
 * but not including 1.
 */
export type RandomCall =
  | {
    readonly kind: "remember";
    readonly text: string;
    readonly namespace: string;
    readonly metadata: Metadata | undefined;
    readonly importance: number | undefined;
    readonly memory: number | undefined;
    readonly idempotencyKey: string;
    readonly isBulk: boolean;
  }
  | {
    readonly kind: "recall";
    readonly text: string;
    readonly namespace: string;
    readonly metadata: Metadata | undefined;
    readonly memory: number | undefined;
    readonly isRecent: boolean;
    readonly isFused: boolean;
  }
  | {
    readonly kind: "remember_sealed" | "recall_sealed";
    readonly namespace: string;
    /** A number that determines the vector and the encrypted bytes. */
    readonly number: number;
  }
  | { readonly kind: "delete" | "status"; readonly memory: number }
  | { readonly kind: "forget" | "stats"; readonly namespace: string }
  | {
    readonly kind: "restore";
    readonly namespace: string;
    readonly limit: number;
  }
  | {
    readonly kind: "list";
    readonly listing: "memories" | "namespaces";
    readonly limit: number;
    readonly isFresh: boolean;
  };

/**
 * Returns a random call.
 *
 * @param names Namespaces that no other test uses.
 * @param round The number of calls before this one; sometimes an earlier number
 * is used, so that an idempotency key is repeated.
 */
export function randomCall(
  random: SeededRandom,
  { names, round }: {
    readonly names: readonly string[];
    readonly round: number;
  },
): RandomCall {
  const namespace = random.pick(names);
  const memory = random.next();
  const maybe = <T>(value: T): T | undefined =>
    random.chance(0.3) ? value : undefined;
  const metadata = maybe({ mood: random.below(3) });
  switch (random.below(16)) {
    case 14:
      return { kind: "remember_sealed", namespace, number: random.below(9) };
    case 15:
      return { kind: "recall_sealed", namespace, number: random.below(9) };
    case 0:
      return { kind: "delete", memory };
    case 1:
      return { kind: "status", memory };
    case 2:
      return random.chance(0.5)
        ? { kind: "forget", namespace }
        : { kind: "stats", namespace };
    case 3:
    case 4:
      return { kind: "restore", namespace, limit: random.below(5) };
    case 5:
    case 6:
    case 7:
      return {
        kind: "list",
        listing: random.pick(["memories", "namespaces"]),
        limit: 1 + random.below(4),
        isFresh: random.chance(0.3),
      };
    case 8:
    case 9: {
      const text = `fact ${random.below(20)}`;
      return {
        kind: "recall",
        ...{ text, namespace, metadata, memory: maybe(memory) },
        isRecent: random.chance(0.5),
        isFused: random.chance(0.5),
      };
    }
    default: {
      // Few texts and keys, so that some of them are repeated.
      const isAgain = random.chance(0.2);
      const number = isAgain ? random.below(round + 1) : round;
      return {
        kind: "remember",
        text: `fact ${number % 20}`,
        ...{ namespace, metadata, memory: maybe(memory) },
        importance: maybe(random.below(3) / 2),
        idempotencyKey: `${names[0]} ${number}`,
        isBulk: random.chance(0.3),
      };
    }
  }
}
