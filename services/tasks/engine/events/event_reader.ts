/**
 * One reader of a tenant's events: what waits to be sent to it, within bounds.
 *
 * @module
 */

import { ByteQueue } from "../../../shared/http/byte_queue.ts";
import type { EventDigest } from "./event_digest.ts";
import {
  type EventBatch,
  type EventFilter,
  frameBytes,
} from "./event_batch.ts";

/** The most bytes that wait for a reader. */
const MAX_WAITING_BYTES = 1_048_576;
/** The most that wait for one who is given what was before. */
const BUSY_BYTES = 262_144;
/** After how many milliseconds a reader comes again. */
const RETRY_MS = 2_000;

/** Options of {@linkcode EventReader}. */
export interface EventReaderOptions {
  /** Which events it gets. */
  readonly filter: EventFilter;
  /**
   * Counts the events, in place of which the reader gets the counts.
   *
   * @default each event is told
   */
  readonly digest?: EventDigest | undefined;
  /** Receives its state changes; all readers of a tenant share one. */
  readonly host: ReaderHost;
}

/** Receives the state changes of readers. */
export interface ReaderHost {
  /** Called once when a reader ends. */
  onEnd(reader: EventReader): void;
  /** Called when one is cut off, as it does not keep up. */
  onCut(): void;
  /** Called when one that was busy no longer is. */
  onFree(): void;
}

/** A reader, whose queue is the body of an answer. */
export class EventReader extends ByteQueue {
  /** Which events it gets. */
  readonly filter: EventFilter;
  /** What counts the events, if the reader gets the counts. */
  readonly digest: EventDigest | undefined;
  readonly #host: ReaderHost;
  #onEnded: (() => void) | undefined;

  /** A reader that gets nothing yet. */
  constructor({ filter, digest, host }: EventReaderOptions) {
    super();
    this.filter = filter;
    this.digest = digest;
    this.#host = host;
    digest?.add(this);
  }

  /** Whether so much waits that it should be given nothing of what was before. */
  get isBusy(): boolean {
    return this.waitingBytes > BUSY_BYTES;
  }

  /**
   * The least milliseconds between two digests; undefined for a reader that gets
   * each event.
   */
  get everyMs(): number | undefined {
    return this.digest?.everyMs;
  }

  /** Tells where it begins. */
  begin(cursor: string): void {
    this.put(frameBytes({ id: cursor, retryMs: RETRY_MS }));
  }

  /** Takes the events that it is for. */
  take(batch: EventBatch): void {
    if (this.digest === undefined) this.put(batch.of(this.filter).bytes);
    else this.digest.take(batch);
  }

  /** Tells that events are missing, before those that are left. */
  reset(): void {
    this.put(frameBytes({ event: "reset", data: "{}" }));
  }

  /** Calls `listen` once when it ends, or at once; there is one listener. */
  onEnded(listen: () => void): void {
    if (this.isEnded) listen();
    else this.#onEnded = listen;
  }

  /** Sends bytes, such as a sign of life; a reader with too many is cut off. */
  override put(bytes: Uint8Array): void {
    if (this.isEnded || bytes.length === 0) return;
    if (this.waitingBytes + bytes.length <= MAX_WAITING_BYTES) {
      return super.put(bytes);
    }
    // Events that were sent keep their cursor, so that a reader can ask for
    // them again.
    this.clear();
    super.put(frameBytes({ event: "cut", data: "{}" }));
    this.#host.onCut();
    this.end();
  }

  /** Leaves the digest and the feed. */
  protected override left(): void {
    this.digest?.remove(this);
    this.#host.onEnd(this);
    this.#onEnded?.();
  }

  /** Tells the feed when there is room again. */
  protected override taken(bytes: Uint8Array): void {
    if (bytes.length > BUSY_BYTES) this.#host.onFree();
  }
}
