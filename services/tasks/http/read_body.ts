/**
 * Reads the body of a request, up to the length that its route and its tenant's
 * plan allow. Also bounds the memory of the long bodies of all requests: parsed
 * into values they take ten times their length, and since each is processed in
 * slices, many would be in memory at once.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { MaybePromise } from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { ClaimedLease } from "./admission.ts";
import { readJsonBody } from "./json_body.ts";
import type { Incoming } from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import { type AnyRoute, DEFAULT_MAX_BODY_BYTES } from "./route.ts";

/** The outcome of asking for room in memory. */
type RoomOutcome =
  | {
    readonly kind: "ok";
    /** Gives the room back. */
    readonly release: () => void;
  }
  /** Too many bytes wait already, or the wait took too long. */
  | { readonly kind: "busy" }
  /** The client has disconnected. */
  | { readonly kind: "gone" };

/** Options of {@linkcode BodyRoom}. */
interface BodyRoomOptions {
  /** The time. */
  readonly clock: Clock;
  /**
   * Most bytes of bodies that are processed at once; a single body may have
   * more.
   * @default 16 MiB
   */
  readonly maxBytes?: number;
  /** Most bytes of bodies that wait for room. */
  readonly maxWaitingBytes: number;
  /**
   * A body of up to so many bytes needs no room.
   * @default 64 KiB
   */
  readonly shortBytes?: number;
  /**
   * How long a body waits for room, in milliseconds.
   * @default {30000}
   */
  readonly maxWaitMs?: number;
}

interface Waiting {
  readonly key: string;
  readonly bytes: number;
  readonly begin: () => void;
}

const NO_ROOM_NEEDED: RoomOutcome = { kind: "ok", release: () => {} };

/**
 * Shares out room for bodies, first to the keys that have the least of it. The
 * room is memory of this process, so each instance has as much.
 */
export class BodyRoom {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #maxWaitingBytes: number;
  readonly #shortBytes: number;
  readonly #maxWaitMs: number;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #heldBytes = 0;
  #waitingBytes = 0;

  /** All room is free at first. */
  constructor(options: BodyRoomOptions) {
    this.#clock = options.clock;
    this.#maxBytes = options.maxBytes ?? 16_777_216;
    this.#maxWaitingBytes = options.maxWaitingBytes;
    this.#shortBytes = options.shortBytes ?? 65_536;
    this.#maxWaitMs = options.maxWaitMs ?? 30_000;
  }

  /** Bytes of bodies that are being processed. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Bytes of bodies that wait for room. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /**
   * Waits for room for a body.
   *
   * @param body.key Whose room the body takes, such as a tenant's id.
   * @param body.onGone Calls its listener when the client disconnects; returns
   * a function that stops listening.
   * @returns A value at once when there is room, otherwise a promise.
   */
  take(
    { key, bytes, onGone }: {
      readonly key: string;
      readonly bytes: number;
      readonly onGone: (listener: () => void) => () => void;
    },
  ): MaybePromise<RoomOutcome> {
    if (bytes <= this.#shortBytes) return NO_ROOM_NEEDED;
    const next = this.#next();
    const isFirst = next === undefined ||
      this.#heldBy(key) < this.#heldBy(next.key);
    if (isFirst && this.#hasRoom(key, bytes)) return this.#hold(key, bytes);
    if (this.#waitingBytes + bytes > this.#maxWaitingBytes) {
      return { kind: "busy" };
    }
    return this.#wait({ key, bytes, onGone });
  }

  async #wait(
    { key, bytes, onGone }: Parameters<BodyRoom["take"]>[0],
  ): Promise<RoomOutcome> {
    const turn = Promise.withResolvers<RoomOutcome>();
    const waiting: Waiting = {
      key,
      bytes,
      begin: () => turn.resolve(this.#hold(key, bytes)),
    };
    this.#waiting.add(waiting);
    this.#waitingBytes += bytes;
    const leave = (kind: "busy" | "gone"): void => {
      if (!this.#stopWaiting(waiting)) return;
      turn.resolve({ kind });
      this.#beginNext();
    };
    const timer = this.#clock.setTimer(() => leave("busy"), this.#maxWaitMs);
    const stay = onGone(() => leave("gone"));
    try {
      return await turn.promise;
    } finally {
      timer.cancel();
      stay();
    }
  }

  /**
   * Whether there is room. A key may have half of all room at most, so that
   * there is room for another key.
   */
  #hasRoom(key: string, bytes: number): boolean {
    if (this.#heldBytes === 0) return true;
    const held = this.#heldBy(key);
    return this.#heldBytes + bytes <= this.#maxBytes &&
      (held === 0 || held + bytes <= this.#maxBytes / 2);
  }

  #heldBy(key: string): number {
    return this.#held.get(key) ?? 0;
  }

  #hold(key: string, bytes: number): RoomOutcome {
    this.#add(key, bytes);
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#add(key, -bytes);
      this.#beginNext();
    };
    return { kind: "ok", release };
  }

  #add(key: string, bytes: number): void {
    this.#heldBytes += bytes;
    const held = this.#heldBy(key) + bytes;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
  }

  #stopWaiting(waiting: Waiting): boolean {
    if (!this.#waiting.delete(waiting)) return false;
    this.#waitingBytes -= waiting.bytes;
    return true;
  }

  #beginNext(): void {
    while (true) {
      const next = this.#next();
      if (next === undefined) return;
      if (!this.#hasRoom(next.key, next.bytes)) return;
      this.#stopWaiting(next);
      next.begin();
    }
  }

  /** Of the keys with the least room, the body that has waited longest. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    let least = Infinity;
    for (const waiting of this.#waiting) {
      const held = this.#heldBy(waiting.key);
      if (held < least) [next, least] = [waiting, held];
      if (least === 0) break;
    }
    return next;
  }
}

/** Options of {@linkcode readBody}. */
interface ReadBodyOptions {
  /** The route that the request leads to. */
  readonly route: AnyRoute;
  /** Longest body of any request, in bytes. */
  readonly maxBodyBytes: number;
  /** Bounds the memory of the long bodies of all requests. */
  readonly room: BodyRoom;
  /**
   * Lets other requests go first, once the body has arrived and while a long
   * one is parsed.
   */
  readonly pausing: Pausing;
  /**
   * The lease whose token was sent with the request.
   * @default the route is not one of a lease
   */
  readonly lease?: ClaimedLease | undefined;
}

/** A body that was read. */
export interface ReadBody {
  /** Reading succeeded. */
  readonly kind: "ok";
  /** The parsed JSON; undefined without a body. */
  readonly value: unknown;
  /** The bytes as they were sent. */
  readonly bytes: Uint8Array;
  /**
   * Gives back the room that the body takes. Call it when the request is
   * answered.
   */
  readonly release: () => void;
}

const NO_BYTES = new Uint8Array(0);
const noop = (): void => {};

/** Bounds for requests without a tenant, and so without a plan. */
const NO_PLAN = { payloadBytes: 65_536, batchSize: 0 };

/** Reads the body of a request, if its route takes one. */
export async function readBody(
  incoming: Incoming,
  { route, maxBodyBytes, lease, room, pausing }: ReadBodyOptions,
): Promise<ReadBody | ProblemAnswer> {
  if (route.body === undefined) {
    return { kind: "ok", value: undefined, bytes: NO_BYTES, release: noop };
  }
  const { request, limits } = incoming;
  const contentLength = request.headers.get("content-length");
  if (lease !== undefined && !isShort(contentLength) && !lease.isKnown()) {
    // Only the holder of the lease may send a long body.
    const refusal = await lease.refusal();
    if (refusal !== undefined) return refusal;
  }
  const maxBytes = Math.min(
    route.body.maxBytes(limits ?? NO_PLAN),
    maxBodyBytes,
  );
  let release = noop;
  const outcome = await readJsonBody({
    contentType: request.headers.get("content-type"),
    contentLength,
    async read(most) {
      const body = await request.body(most);
      if (body.kind !== "ok") return body;
      const taking = room.take({
        key: incoming.tenant?.id ?? "",
        bytes: body.bytes.byteLength,
        onGone: (listener) => request.onGone(listener),
      });
      const taken = taking instanceof Promise ? await taking : taking;
      if (taken.kind === "ok") release = taken.release;
      else if (taken.kind === "busy") return taken;
      else return { kind: "aborted", reason: "disconnected" };
      await pausing.pause();
      return body;
    },
  }, {
    maxBytes,
    maxValues: route.body.maxValues,
    pausing,
    isOptional: route.body.isOptional,
    mediaTypes: route.body.mediaTypes,
    tooLargeAdvice: route.body.tooLargeAdvice,
  });
  if (outcome.kind === "ok") return { ...outcome, release };
  release();
  // The client has gone away, so this answer is not read.
  return outcome.kind === "gone" ? problem("malformed_json") : outcome;
}

/** Whether the declared length is at most what every client may send. */
function isShort(contentLength: string | undefined): boolean {
  return contentLength !== undefined &&
    Number(contentLength) <= DEFAULT_MAX_BODY_BYTES;
}
