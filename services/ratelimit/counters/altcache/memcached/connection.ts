/**
 * One connection to a memcached server, from dialling to its end.
 *
 * @module
 */

import { describeError } from "../../../../shared/settled.ts";
import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { Clock } from "../../../../shared/clock.ts";
import { ReplyWatch } from "../../reply_watch.ts";
import { computeSilence, type Silence } from "../../server_outage.ts";
import { openStoreSocket } from "../../store_socket.ts";
import type { StoreTls } from "../../store_tls.ts";
import {
  type MemcachedCommand,
  type MemcachedReply,
  readReply,
  versionCommand,
} from "./protocol.ts";
import { formatMemcachedAddress, type MemcachedAddress } from "./address.ts";

/** The outcome of a command. */
export type MemcachedOutcome =
  | MemcachedReply
  /**
   * There was no reply in time; the server may have executed the command all
   * the same.
   */
  | { readonly kind: "unavailable"; readonly reason: string };

/** The caller of a command, and its deadline. */
export interface MemcachedCall {
  /** When the caller gives up, by the clock. */
  readonly deadlineMs: number;
  /**
   * Called exactly once, perhaps before the sending function returns. All calls
   * of one connection are answered in the order of the replies, and no other
   * code runs in between.
   */
  readonly done: (outcome: MemcachedOutcome) => void;
}

/** A command that the server understood and did not execute. */
export interface RefusedCommand {
  /** The command. */
  readonly command: MemcachedCommand;
  /** What the server said. */
  readonly reason: string;
}

/** How a {@linkcode MemcachedConnection} is made. */
export interface MemcachedConnectionOptions {
  /** Address of the server. */
  readonly address: MemcachedAddress;
  /**
   * TLS settings of the connection.
   *
   * @default not encrypted
   */
  readonly tls?: StoreTls | undefined;
  /** Bound on dialling and on every reply, in milliseconds. */
  readonly timeoutMs: number;
  /** Gives the time. */
  readonly clock: Clock;
  /** Called once when the server has answered for the first time. */
  readonly onUp: () => void;
  /** Called once when the connection has ended without `close`. */
  readonly onDown: (reason: string) => void;
  /** Called whenever no reply is missing. */
  readonly onIdle: () => void;
  /** Called when a command waits long, or was refused. */
  readonly onDoubt: (refused?: RefusedCommand) => void;
}

interface Waiting {
  readonly command: MemcachedCommand;
  readonly sentMs: number;
  readonly deadlineMs: number;
  /** Undefined once the caller was told that the reply takes too long. */
  done: ((outcome: MemcachedOutcome) => void) | undefined;
}

/**
 * Sends commands without waiting for the replies of earlier ones. Commands of
 * one turn of the event loop go out in one write. The connection fails when the
 * server sends a reply it must not send, or leaves a command without a reply
 * for the time limit.
 */
export class MemcachedConnection {
  readonly #options: MemcachedConnectionOptions;
  #socket: Socket | undefined;
  #state: "new" | "dialling" | "up" | "closed" = "new";
  #waiting: Waiting[] = [];
  #unread = "";
  #unsent = "";
  #flush: ReturnType<typeof setImmediate> | undefined;
  readonly #dialWatch: ReplyWatch;
  readonly #watch: ReplyWatch;
  readonly #silence: Silence;

  /** Makes a connection that has not been dialled yet. */
  constructor(options: MemcachedConnectionOptions) {
    this.#options = options;
    this.#silence = computeSilence(options);
    const { clock } = options;
    this.#watch = new ReplyWatch({ clock, onDue: () => this.#lookAtCalls() });
    this.#dialWatch = new ReplyWatch({
      clock,
      onDue: () => this.#fail(late(options.timeoutMs)),
    });
  }

  /** Number of replies that are missing. */
  get outstanding(): number {
    return this.#waiting.length;
  }

  /** True while a command has waited long for its reply. */
  get isSlow(): boolean {
    const head = this.#waiting[0];
    return head !== undefined &&
      head.sentMs + this.#silence.doubtMs <= this.#options.clock.nowMs();
  }

  /**
   * Dials; the connection is up when the server has answered a first command.
   */
  open(): void {
    const { address, clock, timeoutMs, tls, onUp } = this.#options;
    const deadlineMs = clock.nowMs() + timeoutMs;
    this.#state = "dialling";
    this.#dialWatch.at(deadlineMs);
    const onOpen = (): void => {
      if (this.#state !== "dialling") return;
      this.send(versionCommand(), {
        deadlineMs,
        done: (outcome) => {
          if (this.#state !== "dialling") return;
          if (outcome.kind === "version") {
            this.#dialWatch.stop();
            this.#state = "up";
            onUp();
          } else if (outcome.kind === "refused") {
            this.#fail(outcome.reason);
          }
        },
      });
    };
    try {
      const socket = openStoreSocket(address, {
        tls,
        onOpen,
      });
      this.#socket = socket;
      socket.on("data", (chunk: Buffer) => this.#read(chunk));
      socket.on("error", (error) => this.#fail(errorText(error)));
      socket.on("close", () => this.#fail("the server closed the connection"));
    } catch (error) {
      this.#fail(errorText(error));
    }
  }

  /** Sends a command; without a connection it is answered as unavailable. */
  send(command: MemcachedCommand, call: MemcachedCall): void {
    const { deadlineMs, done } = call;
    if (this.#socket === undefined || this.#state === "closed") {
      return done({ kind: "unavailable", reason: "not connected" });
    }
    const sentMs = this.#options.clock.nowMs();
    this.#waiting.push({ command, sentMs, deadlineMs, done });
    this.#watch.at(Math.min(deadlineMs, sentMs + this.#silence.doubtMs));
    this.#unsent += command.text;
    this.#flush ??= setImmediate(() => {
      this.#flush = undefined;
      const text = this.#unsent;
      this.#unsent = "";
      this.#socket?.write(text, "latin1");
    });
  }

  /** Ends the connection, as the server is silent. */
  giveUp(): void {
    this.#fail(late(this.#silence.limitMs));
  }

  /** Closes at once; calls that wait are answered as unavailable. */
  close(reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#dialWatch.stop();
    this.#watch.stop();
    if (this.#flush !== undefined) clearImmediate(this.#flush);
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#unread = "";
    this.#unsent = "";
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done?.({ kind: "unavailable", reason });
  }

  #fail(cause: string): void {
    if (this.#state === "closed") return;
    const name = formatMemcachedAddress(this.#options.address);
    const reason = `Cannot use "${name}": ${cause}`;
    // A listener to `onDown` must not find a connection that looks alive, and
    // must have begun a new dial before the waiting callers are answered.
    const waiting = this.#waiting;
    this.#waiting = [];
    this.close(reason);
    this.#options.onDown(reason);
    for (const { done } of waiting) done?.({ kind: "unavailable", reason });
  }

  #read(chunk: Buffer): void {
    if (this.#state === "closed") return;
    const text = this.#unread + chunk.toString("latin1");
    this.#unread = "";
    let at = 0;
    while (at < text.length) {
      const head = this.#waiting[0];
      if (head === undefined) {
        return this.#fail("bytes that were not asked for");
      }
      const read = readReply(text, at, { expected: head.command.expected });
      if (read.kind === "fault") return this.#fail(read.reason);
      if (read.kind === "incomplete") {
        this.#unread = text.slice(at);
        return;
      }
      at = read.end;
      this.#waiting.shift();
      if (read.reply.kind === "refused") {
        const { reason } = read.reply;
        this.#doubt({ command: head.command, reason });
      }
      head.done?.(read.reply);
      // The caller that was answered may have closed the connection.
      if (this.isClosed) return;
    }
    if (this.#waiting.length === 0) this.#options.onIdle();
  }

  /** True once the connection has ended. */
  get isClosed(): boolean {
    return this.#state === "closed";
  }

  #lookAtCalls(): void {
    const { clock, timeoutMs } = this.#options;
    const { doubtMs } = this.#silence;
    const nowMs = clock.nowMs();
    const head = this.#waiting[0];
    if (head === undefined) return;
    if (head.sentMs + timeoutMs <= nowMs) return this.#fail(late(timeoutMs));
    const longMs = head.sentMs + doubtMs;
    const isSlow = longMs <= nowMs;
    let dueMs = isSlow
      ? Math.min(head.sentMs + timeoutMs, nowMs + doubtMs)
      : longMs;
    for (const call of [...this.#waiting]) {
      if (call.done === undefined) continue;
      if (call.deadlineMs > nowMs) {
        dueMs = Math.min(dueMs, call.deadlineMs);
        continue;
      }
      const { done } = call;
      call.done = undefined;
      done({ kind: "unavailable", reason: late(timeoutMs) });
    }
    if (this.#state === "closed") return;
    this.#watch.at(dueMs);
    if (isSlow) this.#doubt();
  }

  /** A dial is over or fails by itself. */
  #doubt(refused?: RefusedCommand): void {
    if (this.#state === "up") this.#options.onDoubt(refused);
  }
}

function late(limitMs: number): string {
  return `no answer within ${limitMs} ms`;
}

function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return errorText(error.errors[0]);
  }
  return error instanceof Error && error.message !== ""
    ? describeError(error)
    : "the connection failed";
}
