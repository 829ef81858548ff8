/**
 * Streams of server-sent events that carry messages to a client (HTML,
 * "Server-sent events"). A stream that has ids can be read on from any event
 * that was kept.
 *
 * @module
 */

import type { Clock, Timer } from "../clock.ts";
import { ByteQueue } from "../http/byte_queue.ts";
import type { ByteStream, HttpResponse } from "../http/exchange.ts";
import type { RpcAnswer, SentNotification } from "./messages.ts";

/** An event before it is written. */
interface EventFields {
  /** Where a client may read on. */
  readonly id?: string | undefined;
  /** The type. */
  readonly event?: string | undefined;
  /** After how many milliseconds a client comes again. */
  readonly retryMs?: number;
  /** The data, which has no line end. */
  readonly data: string;
}

/** Options of {@linkcode EventStream}. */
interface EventStreamOptions {
  /** Sets the timer of the comments. */
  readonly clock: Clock;
  /** How often a comment keeps the connection open, in milliseconds. */
  readonly keepAliveMs: number;
  /**
   * The name of the stream, which its events' ids begin with.
   *
   * @default events have no ids
   */
  readonly name?: string;
  /** Called once when the stream has ended: nothing more will be sent. */
  readonly onEnd?: () => void;
  /** Called when the client has gone, or reads too slowly. */
  readonly onLost?: () => void;
}

/** The header fields of such a stream. */
const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  // Proxies such as nginx would hold events back until there are many.
  "x-accel-buffering": "no",
};

/** Most bytes that wait for a client, above which notifications are left out. */
const BUSY_BYTES = 262_144;
/** Most bytes that wait for a client, above which it is cut off. */
const MAX_WAITING_BYTES = 8_388_608;

const RETRY_MS = 1_000;

const encoder = new TextEncoder();
const COMMENT = encoder.encode(":\n\n");

/** A stream to one client. */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #kept: { readonly number: number; readonly bytes: Uint8Array }[] =
    [];
  #keptBytes = 0;
  #number = 0;
  #reader: ByteQueue | undefined;
  #timer: Timer | undefined;
  #isEnded = false;

  /** A stream without a reader. */
  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** The name of the stream; undefined when its events have no ids. */
  get name(): string | undefined {
    return this.#options.name;
  }

  /** Whether all was sent. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Bytes that are kept for a client that comes again. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Sends an event of a type of its own. */
  event(event: string, data: string): void {
    this.#put({ event, data });
  }

  /** Sends an answer. */
  answer(answer: RpcAnswer | readonly RpcAnswer[]): void {
    this.#put({ event: "message", data: JSON.stringify(answer) });
  }

  /**
   * Sends a notification; leaves it out while much waits, as a later one or the
   * answer says more.
   */
  notify(notification: SentNotification): void {
    if ((this.#reader?.waitingBytes ?? 0) > BUSY_BYTES) return;
    if (this.#keptBytes > BUSY_BYTES) return;
    this.#put({ event: "message", data: JSON.stringify(notification) });
  }

  /**
   * Sends an event without content, so that the client knows an id, and after
   * how many milliseconds it should come again when it was cut off.
   */
  prime(): void {
    this.#put({ data: "", retryMs: RETRY_MS });
  }

  /** Ends the stream after what was sent. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#timer?.cancel();
    this.#reader?.end();
    this.#options.onEnd?.();
  }

  /**
   * Begins to send, after the event with a number. An earlier
   * reader gets nothing more.
   */
  read(after = 0): ByteStream {
    const earlier = this.#reader;
    this.#reader = undefined;
    earlier?.end();
    const reader = new ByteQueue({ onEnd: () => this.#leave(reader) });
    for (const { number, bytes } of this.#kept) {
      if (number > after) reader.put(bytes);
    }
    if (this.#options.name === undefined) this.#forget();
    this.#reader = reader;
    if (this.#isEnded) reader.end();
    else this.#keepAlive();
    return reader;
  }

  /**
   * Makes the answer whose body is the stream, after the event with a number.
   */
  response({ headers = {}, after = 0 }: {
    /** Header fields beside the usual ones. @default none */
    readonly headers?: Readonly<Record<string, string>>;
    /** The number of an event. @default the stream from its beginning */
    readonly after?: number;
  } = {}): HttpResponse {
    return {
      status: 200,
      headers: { ...EVENT_STREAM_HEADERS, ...headers },
      stream: this.read(after),
    };
  }

  #put(fields: Omit<EventFields, "id">): void {
    if (this.#isEnded) return;
    const { name } = this.#options;
    const number = ++this.#number;
    const id = name === undefined ? undefined : `${name}-${number}`;
    const bytes = encoder.encode(formatEvent({ ...fields, id }));
    if (name !== undefined || this.#reader === undefined) {
      this.#kept.push({ number, bytes });
      this.#keptBytes += bytes.length;
    }
    const reader = this.#reader;
    if (reader === undefined) return;
    reader.put(bytes);
    if (reader.waitingBytes > MAX_WAITING_BYTES) reader.cancel();
  }

  #forget(): void {
    this.#kept.length = 0;
    this.#keptBytes = 0;
  }

  #leave(reader: ByteQueue): void {
    if (this.#reader !== reader) return;
    this.#reader = undefined;
    this.#timer?.cancel();
    if (!this.#isEnded) this.#options.onLost?.();
  }

  #keepAlive(): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(() => {
      if (this.#reader === undefined) return;
      if (this.#reader.waitingBytes === 0) this.#reader.put(COMMENT);
      this.#keepAlive();
    }, this.#options.keepAliveMs);
  }
}

/** Reads the id of an event: the name of its stream and its number. */
export function readEventId(
  id: string,
): { readonly name: string; readonly number: number } | undefined {
  const match = /^(.{1,128})-(\d{1,9})$/.exec(id);
  return match === null
    ? undefined
    : { name: match[1] ?? "", number: Number(match[2]) };
}

function formatEvent({ id, event, data, retryMs }: EventFields): string {
  return (retryMs === undefined ? "" : `retry: ${retryMs}\n`) +
    (id === undefined ? "" : `id: ${id}\n`) +
    (event === undefined ? "" : `event: ${event}\n`) + `data: ${data}\n\n`;
}
