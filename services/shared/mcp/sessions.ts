/**
 * The sessions of clients over HTTP, within bounds. A session belongs to the
 * credential that opened it.
 *
 * @module
 */

import { type Clock, steadyClock } from "../clock.ts";
import { TokenBuckets } from "../token_buckets.ts";
import { McpConversation } from "./conversation.ts";
import type { EventStream } from "./event_stream.ts";
import type { McpServer } from "./server.ts";

/** The bounds of sessions. */
export interface SessionLimits {
  /**
   * Most sessions in all.
   *
   * @default {1000}
   */
  readonly maxSessions?: number;
  /**
   * Most sessions of an address group.
   *
   * @default {16}
   */
  readonly maxPerGroup?: number;
  /**
   * Most sessions that an address group may open in a minute.
   *
   * @default {30}
   */
  readonly newPerMinute?: number;
  /**
   * Milliseconds without a request, after which a session ends.
   *
   * @default {1800000}
   */
  readonly idleMs?: number;
}

/** A session. */
export interface McpSession<Context> {
  /** The id, which only its client knows. */
  readonly id: string;
  /** Digest of the credential that opened it. */
  readonly owner: Uint8Array;
  /** The address group that opened it. */
  readonly group: string;
  /** What is under way. */
  readonly conversation: McpConversation<Context>;
  /** The open streams, which keep the session alive. */
  readonly streams: Set<EventStream>;
}

/** The outcome of opening a session. */
type OpenedSession<Context> =
  | { readonly kind: "ok"; readonly session: McpSession<Context> }
  /** A bound is reached: answer 429. */
  | {
    readonly kind: "full";
    readonly reason: string;
    readonly retryAfterMs: number;
  };

/** Options of {@linkcode McpSessions}. */
interface McpSessionsOptions<Context> extends SessionLimits {
  /** Answers what the sessions ask. */
  readonly server: McpServer<Context>;
  /** Measures how long a session is idle. */
  readonly clock: Clock;
  /** Makes ids that cannot be guessed. */
  readonly newId: () => string;
}

interface Held<Context> extends McpSession<Context> {
  usedMs: number;
}

/** How long a session is idle at least before another may take its place. */
const SPARE_AFTER_MS = 60_000;
const MINUTE_MS = 60_000;
/** Most address groups whose new sessions are counted. */
const MAX_GROUPS = 10_000;
/** How many sessions a sweep ends at most. */
const SWEEP = 100;

/** The sessions, those used last at the end. */
export class McpSessions<Context> {
  readonly #options: Required<McpSessionsOptions<Context>>;
  readonly #clock: Clock;
  readonly #held = new Map<string, Held<Context>>();
  readonly #groups = new Map<string, number>();
  readonly #opened: TokenBuckets;

  /** No sessions. */
  constructor(options: McpSessionsOptions<Context>) {
    this.#options = {
      maxSessions: 1_000,
      maxPerGroup: 16,
      newPerMinute: 30,
      idleMs: 1_800_000,
      ...options,
    };
    this.#clock = steadyClock(options.clock);
    this.#opened = new TokenBuckets({
      perPeriod: this.#options.newPerMinute,
      periodMs: MINUTE_MS,
      maxNames: MAX_GROUPS,
    });
  }

  /** How many sessions there are. */
  get size(): number {
    return this.#held.size;
  }

  /** Opens a session for the credential with this digest. */
  open(owner: Uint8Array, group: string): OpenedSession<Context> {
    const { maxSessions, maxPerGroup, newId, server } = this.#options;
    const nowMs = this.#clock.nowMs();
    this.#sweep(nowMs);
    const waitMs = this.#opened.take(group, nowMs);
    if (waitMs > 0) {
      return {
        kind: "full",
        reason: "this address opened too many sessions within a minute",
        retryAfterMs: waitMs,
      };
    }
    const isGroupFull = (this.#groups.get(group) ?? 0) >= maxPerGroup;
    if (isGroupFull && !this.#endSpare(nowMs, group)) {
      return {
        kind: "full",
        reason: `this address has ${maxPerGroup} sessions; end one with DELETE`,
        retryAfterMs: SPARE_AFTER_MS,
      };
    }
    if (this.size >= maxSessions && !this.#endSpare(nowMs)) {
      return {
        kind: "full",
        reason: "there are as many sessions as are allowed",
        retryAfterMs: SPARE_AFTER_MS,
      };
    }
    const session: Held<Context> = {
      ...{ id: newId(), owner, group, usedMs: nowMs },
      conversation: new McpConversation(server),
      streams: new Set(),
    };
    this.#held.set(session.id, session);
    this.#groups.set(group, (this.#groups.get(group) ?? 0) + 1);
    return { kind: "ok", session };
  }

  /** Finds a session, which counts as used now. */
  find(id: string): McpSession<Context> | undefined {
    const session = this.#held.get(id);
    if (session === undefined) return undefined;
    const nowMs = this.#clock.nowMs();
    if (this.#isOver(session, nowMs)) {
      this.end(session);
      return undefined;
    }
    session.usedMs = nowMs;
    this.#held.delete(id);
    this.#held.set(id, session);
    return session;
  }

  /** Ends a session, its requests and its streams; harmless twice. */
  end(session: McpSession<Context>): void {
    if (!this.#held.delete(session.id)) return;
    const left = (this.#groups.get(session.group) ?? 1) - 1;
    if (left === 0) this.#groups.delete(session.group);
    else this.#groups.set(session.group, left);
    session.conversation.cancelAll();
    for (const stream of [...session.streams]) stream.end();
  }

  /** Ends all sessions, each when its requests under way are answered. */
  drain(): void {
    for (const session of [...this.#held.values()]) {
      // The answers are written before the streams end.
      session.conversation.onIdle(() =>
        void Promise.resolve().then(() => this.end(session))
      );
    }
  }

  /** Ends all sessions that the credential with this digest opened. */
  endOf(owner: Uint8Array): void {
    for (const session of [...this.#held.values()]) {
      if (isSameDigest(session.owner, owner)) this.end(session);
    }
  }

  /** Ends all sessions at once. */
  endAll(): void {
    for (const session of [...this.#held.values()]) this.end(session);
  }

  #isOver(session: Held<Context>, nowMs: number): boolean {
    return nowMs - session.usedMs >= this.#options.idleMs && isIdle(session);
  }

  #sweep(nowMs: number): void {
    let left = SWEEP;
    for (const session of this.#held.values()) {
      if (left-- === 0 || nowMs - session.usedMs < this.#options.idleMs) return;
      if (this.#isOver(session, nowMs)) this.end(session);
    }
  }

  /** Ends the session that was idle longest, if one was for a while. */
  #endSpare(nowMs: number, group?: string): boolean {
    for (const session of this.#held.values()) {
      if (nowMs - session.usedMs < SPARE_AFTER_MS) return false;
      if (group !== undefined && session.group !== group) continue;
      if (!isIdle(session)) continue;
      this.end(session);
      return true;
    }
    return false;
  }
}

function isIdle<Context>(session: McpSession<Context>): boolean {
  return session.streams.size === 0 && !session.conversation.isBusy;
}

/** Compares digests in a time that does not tell where they differ. */
export function isSameDigest(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length;
  for (let at = 0; at < left.length; at++) {
    difference |= (left[at] ?? 0) ^ (right[at] ?? 0);
  }
  return difference === 0;
}
