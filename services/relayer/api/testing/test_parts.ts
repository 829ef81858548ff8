/**
 * Fake parts of the relayer for tests of the routes: each records its calls and
 * answers what the test sets.
 *
 * @module
 */

import type { Authenticator, Caller } from "../../auth/authenticate.ts";
import type { RateLimits } from "../../auth/rate_limits.ts";
import { refusal } from "../../auth/refusal.ts";
import type { EmbedOutcome } from "../../embed/embedder.ts";
import type { AcceptOutcome } from "../../jobs/job_intake.ts";
import type { AcceptOptions, NewText } from "../../jobs/job_sealer.ts";
import type { AccountOutcome } from "../../ledger/ledger.ts";
import type { IndexedMemory } from "../../recall/memory_index.ts";
import type {
  RecalledMemory,
  RecallOutcome,
  RecallRequest,
} from "../../recall/recall_request.ts";
import type { RestoreService } from "../../recall/restore_service.ts";
import type { RelayerParts } from "../parts.ts";

type AuthOutcome = Awaited<ReturnType<Authenticator["authenticate"]>>;

type AuthRequest = Parameters<Authenticator["authenticate"]>[0];

type RestoreOutcome = Awaited<ReturnType<RestoreService["restore"]>>;

type RefusalCode = Parameters<typeof refusal>[0];

type RateOutcome = ReturnType<RateLimits["take"]>;

/** An owner's delegate. */
export const ANN: Caller = {
  accountId: `0x${"a1".repeat(32)}`,
  owner: `0x${"a2".repeat(32)}`,
  publicKey: "a3".repeat(32),
};

/** The delegate of another owner. */
export const BEN: Caller = {
  accountId: `0x${"b1".repeat(32)}`,
  owner: `0x${"b2".repeat(32)}`,
  publicKey: "b3".repeat(32),
};

const CALLERS: ReadonlyMap<string, Caller> = new Map([
  ["ann", ANN],
  ["ben", BEN],
]);

/** The width of vectors in tests. */
export const WIDTH = 4;

/**
 * Admits the caller that the header `x-test-caller` names, and refuses requests
 * with the code in `x-test-refusal`.
 */
export class TestAuthenticator {
  /** Admits or refuses a request. */
  async authenticate(request: AuthRequest): Promise<AuthOutcome> {
    const code = request.headers.get("x-test-refusal");
    if (code !== undefined) return refusal(code as RefusalCode, "told so");
    const caller = CALLERS.get(request.headers.get("x-test-caller") ?? "");
    if (caller === undefined) return refusal("ERR_MISSING_HEADERS");
    const body = await request.body(request.maxBodyBytes);
    if (body.kind !== "ok") return { kind: "no_body", body };
    return request.takes?.(caller, body.bytes) === false
      ? { kind: "not_taken" }
      : { kind: "ok", caller, body: body.bytes };
  }
}

/** Accepts texts, or answers what the test says. */
export class TestIntake {
  /** The calls so far. */
  readonly accepted: {
    readonly caller: Caller;
    readonly texts: readonly NewText[];
    readonly options: AcceptOptions;
  }[] = [];
  /** The outcome of the next calls; undefined accepts them. */
  outcome: AcceptOutcome | undefined;

  /** Records the call and returns the outcome. */
  accept(
    caller: Caller,
    texts: readonly NewText[],
    options: AcceptOptions,
  ): Promise<AcceptOutcome> {
    const { pausing: _pausing, ...told } = options;
    this.accepted.push({ caller, texts, options: told });
    return Promise.resolve(
      this.outcome ?? {
        kind: "accepted",
        jobIds: texts.map((_, place) => `job-${place + 1}`),
        isRepeated: false,
      },
    );
  }
}

/** Makes the outcome of a recall that finds these memories. */
export function createRecall(
  memories: readonly RecalledMemory[],
  parts: Partial<Extract<RecallOutcome, { kind: "ok" }>> = {},
): RecallOutcome {
  return {
    kind: "ok",
    memories,
    dropped: 0,
    omittedIds: [],
    readBytes: 0,
    ...parts,
  };
}

/** Answers recalls with the outcome that the test sets. */
export class TestRecall {
  /** The requests so far. */
  readonly requests: RecallRequest[] = [];
  /** The outcome of the next recalls. */
  outcome: RecallOutcome = createRecall([]);

  /** Records the request and returns the outcome. */
  recall(request: RecallRequest): Promise<RecallOutcome> {
    this.requests.push(request);
    return Promise.resolve(this.outcome);
  }

  /** Records the request and returns the outcome, as `recall()` does. */
  find(request: RecallRequest): Promise<RecallOutcome> {
    return this.recall(request);
  }
}

/** An index that only records its memories. */
export class TestIndex {
  /** Memories by id. */
  readonly memories = new Map<string, IndexedMemory>();
  /** Whether there is no room for more. */
  isFull = false;

  /** The number of memories. */
  get size(): number {
    return this.memories.size;
  }

  /** Adds a memory. */
  add(memory: IndexedMemory): void {
    if (this.isFull) throw new RangeError("the index is full");
    this.memories.set(memory.id, memory);
  }

  /** Whether the owner has this memory. */
  has(owner: string, id: string): boolean {
    return this.memories.get(id)?.owner === owner;
  }

  /** Removes a memory. */
  remove(owner: string, id: string): void {
    if (this.memories.get(id)?.owner === owner) this.memories.delete(id);
  }

  /** Removes the memories of a namespace. */
  removeNamespace(owner: string, namespace: string): void {
    for (const memory of [...this.memories.values()]) {
      if (memory.owner === owner && memory.namespace === namespace) {
        this.memories.delete(memory.id);
      }
    }
  }

  /** Throws: no route calls this. */
  searchSteps(): never {
    throw new TypeError("Cannot answer: no route searches by itself");
  }
}

/** The outcomes of models and other parts; a test changes them. */
export interface TestModels {
  /** The outcome of embedding. */
  embedded: EmbedOutcome;
  /** The outcome of finding facts. */
  extracted: Awaited<ReturnType<RelayerParts["extractor"]["extract"]>>;
  /** The outcome of answering a question. */
  answered: Awaited<ReturnType<RelayerParts["answerer"]["answer"]>>;
  /** The outcome of restoring. */
  restored: RestoreOutcome;
  /** The outcome of reading an account. */
  account: AccountOutcome;
  /** The outcome of spending points. */
  rate: RateOutcome;
}

/** Makes outcomes with which every call succeeds. */
export function goodModels(): TestModels {
  return {
    embedded: { kind: "ok", vectors: [Float32Array.of(1, 0, 0, 0)] },
    extracted: { kind: "ok", facts: [] },
    answered: { kind: "ok", answer: "42", used: [] },
    restored: {
      unreadable: [],
      kind: "ok",
      restoredIds: ["m1"],
      skipped: 2,
      failed: 3,
      missing: 1,
      total: 7,
      isTruncated: false,
      readBytes: 0,
    },
    account: {
      kind: "ok",
      account: {
        accountId: ANN.accountId,
        owner: ANN.owner,
        isActive: true,
        delegateKeys: [{
          publicKey: ANN.publicKey,
          address: `0x${"a4".repeat(32)}`,
          label: "laptop",
        }],
      },
    },
    rate: { kind: "ok" },
  };
}
