/**
 * The Idempotency-Key header, which makes a request that is sent twice take
 * effect once: how its answer is kept, and given again the second time.
 *
 * Two requests with one key that arrive at once, also at two instances, have
 * one effect. A second one at the same instance finds the first under way in
 * memory. At another instance both begin, and the store decides: the answer is
 * written in the transaction that has the effect, so one of the two conflicts,
 * and is answered as if it had found the other under way. Effects that cannot
 * be in that transaction begin only once their place is held in the store.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import type { Caller } from "../access/caller.ts";
import type { AnswerPlace } from "../engine/bulk/operation.ts";
import { REGISTRY } from "../engine/repositories.ts";
import type { IdempotencyEntry, Store, Write } from "../store/store.ts";
import {
  type Answer,
  getStatus,
  renderAnswer,
  type RenderedAnswer,
  type RenderOptions,
} from "./answer.ts";
import type { Incoming } from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** The outcome of reading the header. */
type IdempotencyKeyOutcome =
  | { readonly kind: "ok"; readonly key: string }
  | ProblemAnswer;

/** What two requests with one key must have in common to count as the same. */
interface IdempotencyScope {
  /** The tenant; empty on hosts that are no tenant's. */
  readonly tenantId: string;
  /** The key or user that calls, as `kind:id`. */
  readonly credential: string;
  /** The method. */
  readonly method: string;
  /** The path without query; decoded or not, but the same way each time. */
  readonly path: string;
}

/** Most characters of a key. */
const MAX_KEY_LENGTH = 255;

/**
 * Most characters of the header: a key in quotes, each of its characters behind
 * a backslash.
 */
export const MAX_KEY_HEADER_LENGTH: number = MAX_KEY_LENGTH * 2 + 2;

/** A string of structured headers (RFC 9651, 3.3.3) without spaces. */
const QUOTED = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const VISIBLE = /^[\x21-\x7e]+$/;

/**
 * Reads the header: visible ASCII, plain or as the quoted string of the
 * header's draft. Both forms are the same key. Several headers arrive joined by
 * a comma and a space, which is not a valid key.
 */
export function parseIdempotencyKey(
  header: string,
): IdempotencyKeyOutcome {
  const written = header.trim();
  if (written === "") return badKey("it is empty");
  // The length is checked before unquoting, so that no text makes the pattern
  // slow.
  if (written.length > MAX_KEY_HEADER_LENGTH) return tooLong();
  const quoted = QUOTED.exec(written);
  const key = quoted === null
    ? written
    : (quoted[1] ?? "").replaceAll(/\\(.)/g, "$1");
  if (quoted === null && written.startsWith('"')) {
    return badKey("its quotes are not closed, or it is more than one string");
  }
  if (key === "") return badKey("it is empty");
  if (key.length > MAX_KEY_LENGTH) return tooLong();
  if (!VISIBLE.test(key)) {
    return badKey("visible ASCII characters are all it may have");
  }
  return { kind: "ok", key };
}

/**
 * The key under which an answer is stored: a hash, of 43 characters, of the
 * client's key and its scope, so that neither can be guessed from the other.
 */
export function idempotencyStoreKey(
  scope: IdempotencyScope,
  key: string,
): string {
  const { tenantId, credential, method, path } = scope;
  // As a JSON list, no two scopes have the same text.
  return hashPieces(JSON.stringify([tenantId, credential, method, path, key]));
}

/**
 * The hash that tells whether two requests with one key have the same body. The
 * hash covers the key, which is not stored: otherwise a reader of the database
 * could find a short secret in the body by trial.
 */
export function bodyHash(key: string, body: string | Uint8Array): string {
  // No key has a line feed, so key and body cannot be confused.
  return hashPieces(`${key}\n`, body);
}

function hashPieces(...pieces: readonly (string | Uint8Array)[]): string {
  return pieces.reduce(
    (hash, piece) => hash.update(piece),
    createHash("sha256"),
  )
    .digest("base64url");
}

function tooLong(): ProblemAnswer {
  return badKey(`it has more than ${MAX_KEY_LENGTH} characters`);
}

function badKey(state: string): ProblemAnswer {
  return problem("bad_header", {
    detail: `Cannot read header "Idempotency-Key": ${state}`,
    extensions: { header: "Idempotency-Key" },
  });
}

/** How long an answer is kept: one day. */
const KEPT_MS = 86_400_000;

/**
 * How long the place of an effect outside the store stays reserved when its
 * instance dies, in milliseconds; longer than any such effect takes.
 */
const HELD_MS = 120_000;

/** Headers that are kept with an answer and given again. */
const KEPT_HEADERS = [
  "content-type",
  "location",
  "etag",
  "preference-applied",
];

/**
 * Marks a place whose answer is not there yet. No kept answer has this header.
 */
const PENDING_HEADER = "retry-after";

/**
 * Tells whether an answer is kept. Answers that depend on more than the request
 * itself, such as 401, 429 and failures, are not, nor is one that says when to
 * try again.
 */
function isKept(answer: Answer): boolean {
  const status = getStatus(answer);
  return status < 500 && status !== 401 && status !== 429 &&
    !(answer.kind === "problem" && answer.retryAfterMs !== undefined);
}

/** Options of {@linkcode keepAnswer}. */
interface KeepOptions {
  /** The answer as it was sent. */
  readonly answer: RenderedAnswer;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * The write that keeps an answer. The write conflicts when an answer is kept
 * there already.
 *
 * @throws {TypeError} when the answer is bytes, which no route that changes
 * something answers
 */
export function keepAnswer(
  place: AnswerPlace,
  { answer: { status, headers, body = "" }, nowMs }: KeepOptions,
): Extract<Write, { readonly kind: "idempotency" }> {
  if (typeof body !== "string") {
    throw new TypeError("Cannot keep answer: its body is not text");
  }
  const kept = KEPT_HEADERS.flatMap((header) => {
    const value = headers[header];
    return value === undefined ? [] : [[header, value]];
  });
  return entryWrite(place, {
    status,
    headers: Object.fromEntries(kept),
    body,
    expiresAtMs: nowMs + KEPT_MS,
  });
}

/**
 * The write that reserves a place for an answer that is not known when the
 * effect begins. The code that finishes the effect fills the place.
 *
 * @param keptMs for how many milliseconds it stays reserved; a day by default
 */
export function holdPlace(
  place: AnswerPlace,
  nowMs: number,
  keptMs: number = KEPT_MS,
): Extract<Write, { readonly kind: "idempotency" }> {
  return entryWrite(place, {
    status: 409,
    headers: { [PENDING_HEADER]: "1" },
    body: "",
    expiresAtMs: nowMs + keptMs,
  });
}

/** The write that gives a reserved place free. */
function freePlace(place: AnswerPlace, nowMs: number): Write {
  return { ...holdPlace(place, nowMs, 0), replaces: true };
}

function entryWrite(
  { tenantId, key, bodyHash }: AnswerPlace,
  entry: Omit<IdempotencyEntry, "bodyHash">,
): Extract<Write, { readonly kind: "idempotency" }> {
  return { kind: "idempotency", tenantId, key, entry: { bodyHash, ...entry } };
}

/**
 * The write that puts the answer in the place reserved by
 * {@linkcode holdPlace}.
 *
 * @throws {TypeError} as {@linkcode keepAnswer} does
 */
export function fillPlace(place: AnswerPlace, options: KeepOptions): Write {
  return { ...keepAnswer(place, options), replaces: true };
}

/** Tells whether a place is reserved but has no answer yet. */
function isPending({ headers }: IdempotencyEntry): boolean {
  return headers[PENDING_HEADER] !== undefined;
}

/** Whether an entry holds an answer. */
function isAs(
  entry: IdempotencyEntry,
  { status, body = "" }: RenderedAnswer,
): boolean {
  return entry.status === status && entry.body === body;
}

/** A kept answer as it is given for a repeated request. */
function answerAgain(entry: IdempotencyEntry): RenderedAnswer {
  return {
    status: entry.status,
    headers: { ...entry.headers, "idempotency-replayed": "true" },
    body: entry.body === "" ? undefined : entry.body,
  };
}

/**
 * How long a repeated request waits for the answer to the first, in
 * milliseconds.
 */
const PATIENCE_MS = 10_000;
/** How long it waits between two reads of the store, in milliseconds. */
const LOOK_MS = 100;

/** A request with a key. */
interface KeyedRequest extends IdempotencyScope {
  /** The client's key. */
  readonly key: string;
  /** The body as it came. */
  readonly body: Uint8Array;
  /** How its answer is rendered. */
  readonly rendering: RenderOptions;
}

/** The outcome of looking up a request with a key. */
type KeyedOutcome =
  /**
   * The request is new. It may go on, and has to end with
   * {@linkcode KeyedSlot.close}.
   */
  | { readonly kind: "new"; readonly slot: KeyedSlot }
  /** The request was answered before. */
  | { readonly kind: "replay"; readonly answer: RenderedAnswer }
  | ProblemAnswer;

/** Options of {@linkcode KeyedSlot.keep}. */
interface KeepingOptions {
  /**
   * Whether the answer is worth room in the store.
   *
   * @default {true}
   */
  readonly isWorthKeeping?: boolean;
}

/** What a request was answered at another instance; undefined if nothing. */
type Elsewhere =
  | Extract<KeyedOutcome, { readonly kind: "replay" }>
  | ProblemAnswer
  | undefined;

/** A new request with a key, while it is being answered. */
interface KeyedSlot {
  /** Where the answer is kept, for effects that outlive the request. */
  readonly place: AnswerPlace;
  /**
   * Reserves the place in the store before an effect outside of it.
   *
   * @returns the problem of a request whose first sending is under way at
   * another instance
   */
  hold(): Promise<ProblemAnswer | undefined>;
  /**
   * The write that keeps an answer; it belongs in the transaction that has the
   * effect. Empty for answers that are not kept.
   */
  writes(answer: Answer): readonly Write[];
  /**
   * Keeps the answer that was given, unless `writes` kept it with the effect.
   * When that transaction conflicted, nothing was kept.
   *
   * @returns what the same request was answered at another instance meanwhile:
   * then this one had no effect, such as a retry of a task that has just been
   * retried, and gets the same answer
   */
  keep(answer: Answer, options?: KeepingOptions): Promise<Elsewhere>;
  /** The answer as it is sent; one that was kept is not rendered again. */
  rendered(answer: Answer): RenderedAnswer;
  /** Ends the request, so that another one with the same key may begin. */
  close(): Promise<void>;
}

/** Keeps answers to requests with an Idempotency-Key, and finds them again. */
export class IdempotentAnswers {
  readonly #parts: { readonly store: Store; readonly clock: Clock };
  readonly #underWay = new Set<string>();

  /** Keeps answers in the store. */
  constructor(parts: { readonly store: Store; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** Looks up whether a request was answered before or is being answered. */
  async open(request: KeyedRequest): Promise<KeyedOutcome> {
    const { tenantId, key, body, rendering } = request;
    const name = idempotencyStoreKey(request, key);
    if (this.#underWay.has(name)) return requestInProgress();
    this.#underWay.add(name);
    let isOpen = false;
    try {
      const place = { tenantId, key: name, bodyHash: bodyHash(key, body) };
      const entry = await this.#read(place);
      if (entry === undefined) {
        isOpen = true;
        return { kind: "new", slot: this.#slot(place, rendering) };
      }
      // An earlier version did not hash the key.
      const isOld = entry.bodyHash === hashPieces(body);
      return this.#answerOf(entry, isOld ? entry : place);
    } finally {
      if (!isOpen) this.#underWay.delete(name);
    }
  }

  /**
   * Reads the kept answer. Waits up to ten seconds for one that is not there
   * yet.
   */
  async #read(place: AnswerPlace): Promise<IdempotencyEntry | undefined> {
    const { store, clock } = this.#parts;
    const { tenantId, key } = place;
    // Counted, since the time of day may be set back meanwhile.
    for (let looksLeft = PATIENCE_MS / LOOK_MS;; looksLeft--) {
      const entry = await store.idempotency(tenantId, key, clock.nowMs());
      if (entry === undefined || !isPending(entry)) return entry;
      const isOther = entry.bodyHash !== place.bodyHash;
      if (isOther || looksLeft <= 0) return entry;
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, LOOK_MS);
      });
    }
  }

  /** What a request gets that finds an entry at the place of its answer. */
  #answerOf(
    entry: IdempotencyEntry,
    { bodyHash }: Pick<AnswerPlace, "bodyHash">,
  ): Exclude<KeyedOutcome, { readonly kind: "new" }> {
    if (entry.bodyHash !== bodyHash) {
      return problem("idempotency_key_reused", {
        detail: "Cannot use the Idempotency-Key: it was used with another " +
          "body; take a new one",
        // Then the answer is forgotten, and the key is free.
        retryAfterMs: entry.expiresAtMs - this.#parts.clock.nowMs(),
      });
    }
    return isPending(entry)
      ? requestInProgress()
      : { kind: "replay", answer: answerAgain(entry) };
  }

  #slot(place: AnswerPlace, rendering: RenderOptions): KeyedSlot {
    const { store, clock } = this.#parts;
    const { tenantId, key } = place;
    let proposed: Answer | undefined;
    let proposedAs: RenderedAnswer | undefined;
    let last: { readonly of: Answer; readonly as: RenderedAnswer } | undefined;
    const rendered = (answer: Answer): RenderedAnswer => {
      if (last?.of !== answer) {
        last = { of: answer, as: renderAnswer(answer, rendering) };
      }
      return last.as;
    };
    const write = (answer: Answer): Write =>
      keepAnswer(place, { answer: rendered(answer), nowMs: clock.nowMs() });
    let isHeld = false;
    return {
      place,
      rendered,
      async hold() {
        const writes = [holdPlace(place, clock.nowMs(), HELD_MS)];
        const [result] = await store.commit([{ writes }]);
        isHeld = result?.kind === "ok";
        return isHeld ? undefined : requestInProgress();
      },
      writes(answer) {
        if (!isKept(answer)) return [];
        proposed = answer;
        const writes = [write(answer)];
        proposedAs = rendered(answer);
        return writes;
      },
      keep: async (answer, { isWorthKeeping = true } = {}) => {
        if (answer === proposed || !isKept(answer)) return undefined;
        if (isHeld) {
          const options = { answer: rendered(answer), nowMs: clock.nowMs() };
          await store.commit([{ writes: [fillPlace(place, options)] }]);
          isHeld = false;
          return undefined;
        }
        const find = () => store.idempotency(tenantId, key, clock.nowMs());
        let kept = await find();
        if (kept === undefined) {
          if (!isWorthKeeping) return undefined;
          const [result] = await store.commit([{ writes: [write(answer)] }]);
          if (result?.kind === "ok") return undefined;
          kept = await find();
        }
        // The proposed answer may be kept although this one is another object:
        // a kept answer lacks the secrets that are shown only once. A problem
        // says that what was proposed did not fit, though another instance may
        // have kept the same.
        const isOwn = kept === undefined || isAs(kept, rendered(answer)) ||
          answer.kind !== "problem" && proposedAs !== undefined &&
            isAs(kept, proposedAs);
        if (kept === undefined || isOwn) return undefined;
        return this.#answerOf(kept, place);
      },
      close: async () => {
        try {
          if (isHeld) {
            const writes = [freePlace(place, clock.nowMs())];
            await store.commit([{ writes }]);
          }
        } finally {
          this.#underWay.delete(key);
        }
      },
    };
  }
}

/** The problem of a request whose first sending is still being answered. */
export function requestInProgress(): ProblemAnswer {
  return problem("idempotency_in_progress", {
    detail: "Cannot answer yet: the first request with this Idempotency-Key " +
      "is still under way",
    retryAfterMs: 1_000,
  });
}

/** Options of {@linkcode openSlot}. */
interface OpenSlotOptions extends Pick<KeyedRequest, "body" | "rendering"> {
  /** The header of the request. */
  readonly header: string;
  /** The caller; undefined on public routes. */
  readonly caller: Caller | undefined;
  /** Answers kept by key. */
  readonly answers: IdempotentAnswers;
}

/** Looks for the kept answer to a request with an Idempotency-Key. */
export async function openSlot(
  incoming: Incoming,
  { header, caller, body, rendering, answers }: OpenSlotOptions,
): Promise<KeyedOutcome> {
  const { request: { method }, tenant, path } = incoming;
  const key = parseIdempotencyKey(header);
  if (key.kind === "problem") return key;
  const tenantId = tenant?.id ?? REGISTRY;
  const credential = credentialName(caller, incoming);
  const scope = { tenantId, credential, method, path };
  return await answers.open({ ...scope, key: key.key, body, rendering });
}

/**
 * The name of the caller, so that no caller gets the answer of another. On
 * public routes it is the credential, if there is one, and the address.
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
