/**
 * Answers that are given again to the same request.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { AnswerPlace } from "../engine/bulk/operation.ts";
import type { Caller } from "../access/caller.ts";
import { REGISTRY } from "../engine/repositories.ts";
import type { IdempotencyEntry, Store, Write } from "../store/store.ts";
import type { Answer, RenderedAnswer } from "./answer.ts";
import {
  answerAgain,
  bodyHash,
  idempotencyStoreKey,
  isKept,
  isPending,
  keepAnswer,
  parseIdempotencyKey,
} from "./idempotency_key.ts";
import type { Incoming } from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { AnyRoute } from "./route.ts";

/** How long a repeated request waits for an answer that is yet to come. */
const PATIENCE_MS = 10_000;
/** How long it waits between two looks. */
const LOOK_MS = 100;

/** A request with a key. */
interface KeyedRequest {
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
  readonly body: Uint8Array;
}

/** What is known of a request with a key. */
type KeyedOutcome =
  /** It is new: it may go on, and has to end with {@linkcode KeyedSlot.close}. */
  | { readonly kind: "new"; readonly slot: KeyedSlot }
  /** It was answered before. */
  | { readonly kind: "replay"; readonly answer: RenderedAnswer }
  | ProblemAnswer;

/** Makes of an answer what is sent; the same for the first time and later ones. */
type Render = (answer: Answer) => RenderedAnswer;

/** The place of a new request among those with a key. */
interface KeyedSlot {
  /** Where its answer is kept, for effects that outlive the request. */
  readonly place: AnswerPlace;
  /**
   * The write that keeps an answer; it belongs into the transaction of the effect.
   * Empty for answers that are not kept.
   */
  writes(answer: Answer, render: Render): readonly Write[];
  /**
   * Keeps the answer that was given, unless one was written with its effect: a
   * write that did not fit kept nothing.
   */
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
    const { tenantId, key, body } = request;
    const name = idempotencyStoreKey(request, key);
    if (this.#underWay.has(name)) return requestInProgress();
    this.#underWay.add(name);
    let isOpen = false;
    try {
      const place = { tenantId, key: name, bodyHash: bodyHash(body) };
      const entry = await this.#read(place);
      if (entry === undefined) {
        isOpen = true;
        return { kind: "new", slot: this.#slot(place) };
      }
      if (entry.bodyHash !== place.bodyHash) return reused();
      return isPending(entry)
        ? requestInProgress()
        : { kind: "replay", answer: answerAgain(entry) };
    } finally {
      if (!isOpen) this.#underWay.delete(name);
    }
  }

  /** What is kept; waits a while for what is yet to come. */
  async #read(place: AnswerPlace): Promise<IdempotencyEntry | undefined> {
    const { clock } = this.#parts;
    const endMs = clock.nowMs() + PATIENCE_MS;
    while (true) {
      const entry = await this.#look(place);
      if (entry === undefined || !isPending(entry)) return entry;
      const isOther = entry.bodyHash !== place.bodyHash;
      if (isOther || clock.nowMs() >= endMs) return entry;
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, LOOK_MS);
      });
    }
  }

  async #look(
    { tenantId, key }: AnswerPlace,
  ): Promise<IdempotencyEntry | undefined> {
    const { store, clock } = this.#parts;
    return await store.idempotency(tenantId, key, clock.nowMs());
  }

  #slot(place: AnswerPlace): KeyedSlot {
    const { store, clock } = this.#parts;
    let proposed: Answer | undefined;
    const write = (answer: Answer, render: Render): Write =>
      keepAnswer(place, { answer: render(answer), nowMs: clock.nowMs() });
    return {
      place,
      writes(answer, render) {
        if (!isKept(answer)) return [];
        proposed = answer;
        return [write(answer, render)];
      },
      keep: async (answer, render) => {
        if (answer === proposed || !isKept(answer)) return;
        // What was proposed may be there though it looks different: what is
        // shown once is left out of it.
        if (await this.#look(place) !== undefined) return;
        await store.commit([{ writes: [write(answer, render)] }]);
      },
      close: () => {
        this.#underWay.delete(place.key);
      },
    };
  }
}

function reused(): ProblemAnswer {
  return problem("idempotency_key_reused", {
    detail: "Cannot use the Idempotency-Key: it was used with another " +
      "body; take a new one",
  });
}

/** The problem of a request that is still being answered elsewhere. */
export function requestInProgress(): ProblemAnswer {
  return problem("idempotency_in_progress", {
    detail: "Cannot answer yet: the first request with this Idempotency-Key " +
      "is still under way",
    retryAfterMs: 1_000,
  });
}

/** Options of {@linkcode openSlot}. */
interface OpenSlotOptions {
  /** What the request is for. */
  readonly route: AnyRoute;
  /** Who calls. */
  readonly caller: Caller | undefined;
  /** The body as it came. */
  readonly body: Uint8Array;
  /** Answers that were given. */
  readonly answers: IdempotentAnswers;
}

/** Looks for an answer that was given before, where the client asked for that. */
export async function openSlot(
  incoming: Incoming,
  { route, caller, body, answers }: OpenSlotOptions,
): Promise<KeyedOutcome | undefined> {
  if (route.isIdempotent !== true) return undefined;
  const { request, tenant, path } = incoming;
  const key = parseIdempotencyKey(request.headers.get("idempotency-key"));
  if (key.kind === "none") return undefined;
  if (key.kind === "problem") return key;
  return await answers.open({
    tenantId: tenant?.id ?? REGISTRY,
    credential: credentialName(caller, incoming),
    method: request.method,
    path,
    key: key.key,
    body,
  });
}

/**
 * Whose request it is, so that no caller gets the answer of another. On public
 * routes that is the credential, if there is one, and the address.
 */
function credentialName(
  caller: Caller | undefined,
  { request, origin }: Incoming,
): string {
  switch (caller?.kind) {
    case "api_key":
      return `key:${caller.keyId}`;
    case "user":
      return `user:${caller.userId}`;
    case "worker":
      return `worker:${caller.credentialId}`;
    case "operator":
      return "operator";
    case undefined: {
      const authorization = request.headers.get("authorization") ?? "";
      return `public:${origin.clientAddress}:${authorization}`;
    }
  }
}
