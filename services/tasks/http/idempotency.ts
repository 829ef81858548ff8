/**
 * The Idempotency-Key header, by which the same request sent twice takes effect
 * once: what is kept of an answer, and how it is given the second time.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import type { Caller } from "../access/caller.ts";
import type { AnswerPlace } from "../engine/bulk/operation.ts";
import { REGISTRY } from "../engine/repositories.ts";
import type { IdempotencyEntry, Store, Write } from "../store/store.ts";
import { type Answer, type RenderedAnswer, statusOf } from "./answer.ts";
import type { Incoming } from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { AnyRoute } from "./route.ts";

/** The outcome of reading the header. */
type IdempotencyKeyOutcome =
  | { readonly kind: "none" }
  | { readonly kind: "ok"; readonly key: string }
  | ProblemAnswer;

/** What two requests with one key must have in common to be the same. */
interface IdempotencyScope {
  /** The tenant; empty on hosts that are no tenant's. */
  readonly tenantId: string;
  /** The key or user that calls, as `kind:id`. */
  readonly credential: string;
  /** The method. */
  readonly method: string;
  /** The path without query, decoded or not but always alike. */
  readonly path: string;
}

/** Most characters of a key. */
const MAX_KEY_LENGTH = 255;

/** A string of structured headers (RFC 9651, 3.3.3) without spaces. */
const QUOTED = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const VISIBLE = /^[\x21-\x7e]+$/;

/**
 * Reads the header: visible ASCII, plain or as the quoted string of the
 * header's draft; both forms are the same key. Several headers arrive as one
 * with a comma and a space, which is no key.
 */
export function parseIdempotencyKey(
  header: string | undefined,
): IdempotencyKeyOutcome {
  if (header === undefined) return { kind: "none" };
  const written = header.trim();
  if (written === "") return badKey("it is empty");
  // Checked before it is unquoted, so no text makes the pattern slow.
  if (written.length > MAX_KEY_LENGTH * 2 + 2) return tooLong();
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
 * The key under which an answer is kept: the client's key within its scope, as
 * a hash of 43 characters, so that neither can be guessed from the other.
 */
export function idempotencyStoreKey(
  scope: IdempotencyScope,
  key: string,
): string {
  const { tenantId, credential, method, path } = scope;
  // As a JSON list, no two scopes have the same text.
  return hashOf(JSON.stringify([tenantId, credential, method, path, key]));
}

/**
 * The hash by which a body is told from another one of the same key. It covers the
 * key, which is not stored: else who has the database could try out what a short
 * secret in the body may be.
 */
export function bodyHash(key: string, body: string | Uint8Array): string {
  // No key holds a line feed.
  return hashOf(`${key}\n`, body);
}

function hashOf(...pieces: readonly (string | Uint8Array)[]): string {
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

/** How long an answer is kept. */
const KEPT_MS = 86_400_000;

/** Headers of an answer that are given again. */
const KEPT_HEADERS = [
  "content-type",
  "location",
  "etag",
  "preference-applied",
];

/** No answer that is kept has it, so it tells those that are yet to come. */
const PENDING_HEADER = "retry-after";

/**
 * Tells whether an answer is kept: not one that says nothing about the request
 * itself.
 */
function isKept(answer: Answer): boolean {
  const status = statusOf(answer);
  return status < 500 && status !== 401 && status !== 429 &&
    !(answer.kind === "problem" && answer.code === "idempotency_in_progress");
}

/** Options of {@linkcode keepAnswer}. */
interface KeepOptions {
  /** The answer as it was sent. */
  readonly answer: RenderedAnswer;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * The write that keeps an answer; it conflicts where one is kept already.
 *
 * @throws {TypeError} when the answer is bytes, which no route that changes
 * something answers
 */
export function keepAnswer(
  place: AnswerPlace,
  { answer: { status, headers, body = "" }, nowMs }: KeepOptions,
): Extract<Write, { readonly kind: "idempotency" }> {
  if (typeof body !== "string") {
    throw new TypeError("Cannot keep answer: its body is no text");
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
 * The write that keeps a place for an answer that comes after its effect has
 * begun; the code that finishes the effect fills it.
 */
export function holdPlace(place: AnswerPlace, nowMs: number): Write {
  return entryWrite(place, {
    status: 409,
    headers: { [PENDING_HEADER]: "1" },
    body: "",
    expiresAtMs: nowMs + KEPT_MS,
  });
}

function entryWrite(
  { tenantId, key, bodyHash }: AnswerPlace,
  entry: Omit<IdempotencyEntry, "bodyHash">,
): Extract<Write, { readonly kind: "idempotency" }> {
  return { kind: "idempotency", tenantId, key, entry: { bodyHash, ...entry } };
}

/**
 * The write that puts the answer where a place was kept for it.
 *
 * @throws {TypeError} as {@linkcode keepAnswer} does
 */
export function fillPlace(place: AnswerPlace, options: KeepOptions): Write {
  return { ...keepAnswer(place, options), replaces: true };
}

/** Tells whether an answer is yet to come. */
function isPending({ headers }: IdempotencyEntry): boolean {
  return headers[PENDING_HEADER] !== undefined;
}

/** A kept answer as it is given again. */
function answerAgain(entry: IdempotencyEntry): RenderedAnswer {
  return {
    status: entry.status,
    headers: { ...entry.headers, "idempotency-replayed": "true" },
    body: entry.body === "" ? undefined : entry.body,
  };
}

/** How long a repeated request waits for an answer that is yet to come. */
const PATIENCE_MS = 10_000;
/** How long it waits between two looks. */
const LOOK_MS = 100;

/** A request with a key. */
interface KeyedRequest extends IdempotencyScope {
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
      const place = { tenantId, key: name, bodyHash: bodyHash(key, body) };
      const entry = await this.#read(place);
      if (entry === undefined) {
        isOpen = true;
        return { kind: "new", slot: this.#slot(place) };
      }
      const isSame = entry.bodyHash === place.bodyHash ||
        // An earlier version left the key out.
        entry.bodyHash === hashOf(body);
      if (!isSame) {
        return problem("idempotency_key_reused", {
          detail: "Cannot use the Idempotency-Key: it was used with another " +
            "body; take a new one",
        });
      }
      return isPending(entry)
        ? requestInProgress()
        : { kind: "replay", answer: answerAgain(entry) };
    } finally {
      if (!isOpen) this.#underWay.delete(name);
    }
  }

  /** What is kept; waits a while for what is yet to come. */
  async #read(place: AnswerPlace): Promise<IdempotencyEntry | undefined> {
    const { store, clock } = this.#parts;
    const { tenantId, key } = place;
    const endMs = clock.nowMs() + PATIENCE_MS;
    while (true) {
      const entry = await store.idempotency(tenantId, key, clock.nowMs());
      if (entry === undefined || !isPending(entry)) return entry;
      const isOther = entry.bodyHash !== place.bodyHash;
      if (isOther || clock.nowMs() >= endMs) return entry;
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, LOOK_MS);
      });
    }
  }

  #slot(place: AnswerPlace): KeyedSlot {
    const { store, clock } = this.#parts;
    const { tenantId, key } = place;
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
        const kept = await store.idempotency(tenantId, key, clock.nowMs());
        if (kept !== undefined) return;
        await store.commit([{ writes: [write(answer, render)] }]);
      },
      close: () => {
        this.#underWay.delete(key);
      },
    };
  }
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
  const { request: { headers, method }, tenant, path } = incoming;
  const key = parseIdempotencyKey(headers.get("idempotency-key"));
  if (key.kind === "none") return undefined;
  if (key.kind === "problem") return key;
  const tenantId = tenant?.id ?? REGISTRY;
  const credential = credentialName(caller, incoming);
  const scope = { tenantId, credential, method, path };
  return await answers.open({ ...scope, key: key.key, body });
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
