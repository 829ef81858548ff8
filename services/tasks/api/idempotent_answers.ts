/**
 * Answers that are given again to the same request.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { IdempotencyEntry, Store, Write } from "../store/store.ts";
import { type Answer, type RenderedAnswer, statusOf } from "./http/answer.ts";
import { bodyHash, idempotencyStoreKey } from "./http/idempotency_key.ts";
import { problem, type ProblemAnswer } from "./http/problem_answer.ts";

/** How long an answer is kept. */
export const KEPT_MS = 86_400_000;

/** Headers of an answer that are given again. */
const KEPT_HEADERS = [
  "content-type",
  "location",
  "etag",
  "preference-applied",
];

/** A request with a key. */
export interface KeyedRequest {
  /** The tenant; empty on hosts that are no tenant's. */
  readonly tenantId: string;
  /** Who calls, as `kind:id`. */
  readonly credential: string;
  /** The method. */
  readonly method: string;
  /** The path. */
  readonly path: string;
  /** The client's key. */
  readonly key: string;
  /** The body as it came. */
  readonly bodyText: string;
}

/** What is known of a request with a key. */
export type KeyedOutcome =
  /** It is new: it may go on, and has to end with {@linkcode KeyedSlot.close}. */
  | { readonly kind: "new"; readonly slot: KeyedSlot }
  /** It was answered before. */
  | { readonly kind: "replay"; readonly answer: RenderedAnswer }
  | ProblemAnswer;

/** Makes of an answer what is sent; the same for the first time and later ones. */
export type Render = (answer: Answer) => RenderedAnswer;

/** The place of a new request among those with a key. */
export interface KeyedSlot {
  /**
   * The write that keeps an answer; it belongs into the unit of the effect.
   * Empty for answers that are not kept.
   */
  writes(answer: Answer, render: Render): readonly Write[];
  /** Keeps an answer that had no effect. */
  keep(answer: Answer, render: Render): Promise<void>;
  /** The request was answered. */
  close(): void;
}

/** Answers by key. */
export class IdempotentAnswers {
  readonly #parts: { readonly store: Store; readonly clock: Clock };
  readonly #underWay = new Set<string>();

  /** Keeps answers in the store. */
  constructor(parts: { readonly store: Store; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** Looks what is known of a request. */
  async open(request: KeyedRequest): Promise<KeyedOutcome> {
    const { store, clock } = this.#parts;
    const { tenantId, key } = request;
    const name = idempotencyStoreKey(request, key);
    if (this.#underWay.has(name)) return inProgress();
    this.#underWay.add(name);
    let isOpen = false;
    try {
      const entry = await store.idempotency(tenantId, name, clock.nowMs());
      if (entry === undefined) {
        isOpen = true;
        return { kind: "new", slot: this.#slot(request, name) };
      }
      return entry.bodyHash === bodyHash(request.bodyText)
        ? { kind: "replay", answer: replayOf(entry) }
        : problem("idempotency_key_reused", {
          detail: "Cannot use the Idempotency-Key: it was used with another " +
            "body; take a new one",
        });
    } finally {
      if (!isOpen) this.#underWay.delete(name);
    }
  }

  #slot(request: KeyedRequest, name: string): KeyedSlot {
    const { store, clock } = this.#parts;
    const { tenantId, bodyText } = request;
    let isWritten = false;
    const writes = (answer: Answer, render: Render): readonly Write[] => {
      if (!isKept(statusOf(answer))) return [];
      isWritten = true;
      const { status, headers, body = "" } = render(answer);
      const kept = KEPT_HEADERS.flatMap((header) => {
        const value = headers[header];
        return value === undefined ? [] : [[header, value]];
      });
      return [{
        kind: "idempotency",
        tenantId,
        key: name,
        entry: {
          bodyHash: bodyHash(bodyText),
          status,
          headers: Object.fromEntries(kept),
          body,
          expiresAtMs: clock.nowMs() + KEPT_MS,
        },
      }];
    };
    return {
      writes,
      async keep(answer, render) {
        if (isWritten) return;
        const missing = writes(answer, render);
        if (missing.length > 0) await store.commit([{ writes: missing }]);
      },
      close: () => {
        this.#underWay.delete(name);
      },
    };
  }
}

/** Answers that say nothing about the request itself are not kept. */
function isKept(status: number): boolean {
  return status < 500 && status !== 401 && status !== 429;
}

function replayOf(entry: IdempotencyEntry): RenderedAnswer {
  return {
    status: entry.status,
    headers: { ...entry.headers, "idempotency-replayed": "true" },
    ...(entry.body === "" ? {} : { body: entry.body }),
  };
}

function inProgress(): ProblemAnswer {
  return problem("idempotency_in_progress", {
    detail: "Cannot answer yet: the first request with this Idempotency-Key " +
      "is still under way",
    retryAfterMs: 1_000,
  });
}
