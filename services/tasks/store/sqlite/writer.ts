/**
 * The writing thread as the serving thread sees it.
 *
 * @module
 */

import type { Logger } from "../../../shared/logger.ts";
import { StoreFailedError } from "../../../shared/store_failed_error.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import type { Durability } from "./database_file.ts";
import { startOwnThread, type StartThread } from "./thread.ts";
import type {
  Applied,
  OperationValue,
  WriterAnswer,
  WriterRequest,
} from "./writer_messages.ts";

/** Options of {@linkcode Writer}. */
export interface WriterOptions {
  /** The database's path. */
  readonly path: string;
  /** What a commit waits for. */
  readonly durability: Durability;
  /** Hears when the thread dies. */
  readonly logger: Logger;
  /**
   * Keys of the MACs of what the database holds, the one that seals first.
   * @default none: nothing is sealed
   */
  readonly proofKeys?: readonly ProofKey[];
  /** Tells the time that migrations are noted with. */
  readonly nowMs: () => number;
  /**
   * Starts the thread.
   *
   * @default {startOwnThread}
   */
  readonly startThread?: StartThread;
}

/** For how long a write proves that others can be made. */
const PROVEN_MS = 2_000;

type Succeeded = Exclude<WriterAnswer, { readonly kind: "failed" }>;

interface Waiting {
  readonly resolve: (answer: Succeeded) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Sends requests to the thread that writes. When the thread dies, what it was
 * asked fails and the next request finds a new one.
 */
export class Writer {
  readonly #options: WriterOptions;
  #worker: Worker | undefined;
  #opening: Promise<unknown> | undefined;
  #waiting: Waiting[] = [];
  #isClosed = false;
  /** When tasks were last written, until something goes wrong. */
  #wroteAtMs = -Infinity;

  /** A writer whose thread is not started yet. */
  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /**
   * Starts the thread and opens the database.
   *
   * @throws {Error} when it cannot be opened
   */
  async open(): Promise<void> {
    try {
      await this.#opened();
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /**
   * Applies lists of transactions in one commit of SQLite.
   *
   * @throws {StoreFailedError} when it failed, or the thread died; it may have
   * been done all the same when the thread died
   */
  async apply(
    lists: readonly (readonly OperationValue[])[],
  ): Promise<Applied> {
    try {
      const answer = await this.#request({ kind: "apply", lists });
      if (answer.kind !== "applied") {
        throw new StoreFailedError("Cannot write: got the answer of another");
      }
      this.#wroteAtMs = this.#options.nowMs();
      return answer;
    } catch (error) {
      this.#wroteAtMs = -Infinity;
      throw error;
    }
  }

  /**
   * Asks for something else; what is asked is done, and answered, in this order.
   * When the thread dies what is under way fails, though it may have been done.
   *
   * @throws {StoreFailedError} when it failed, or the thread died
   */
  async ask(
    request: Exclude<WriterRequest, { readonly kind: "apply" }>,
  ): Promise<readonly number[]> {
    const answer = await this.#request(request);
    return answer.kind === "done" ? answer.numbers : [];
  }

  /**
   * Resolves when it can write: when it has just done so, or when a write goes
   * well that is as long as those of tasks and changes nothing.
   *
   * @throws {StoreFailedError} when it cannot
   */
  async check(): Promise<void> {
    const ageMs = this.#options.nowMs() - this.#wroteAtMs;
    if (ageMs >= 0 && ageMs < PROVEN_MS) return;
    await this.ask({ kind: "probe" });
  }

  /** Closes the database, which empties its log, and ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#worker === undefined) return;
    try {
      await this.#send({ kind: "close" });
    } finally {
      this.#end();
    }
  }

  #opened(): Promise<unknown> {
    if (this.#opening !== undefined) return this.#opening;
    if (this.#isClosed) return Promise.reject(closedError());
    const { path, durability, nowMs, proofKeys = [] } = this.#options;
    const { startThread = startOwnThread } = this.#options;
    const worker = startThread("writer");
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<WriterAnswer>) => {
      if (this.#worker === worker) this.#settle(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#die(worker, event.message);
    };
    worker.onmessageerror = () => this.#die(worker, "an answer was unreadable");
    const opening = this.#send({
      kind: "open",
      path,
      durability,
      nowMs: nowMs(),
      proofKeys,
    });
    this.#opening = opening;
    // A thread that cannot open is of no use to the next request.
    opening.catch((error: Error) => {
      if (this.#worker === worker) this.#end(error);
    });
    return opening;
  }

  #request(request: WriterRequest): Promise<Succeeded> {
    // What cannot be opened fails the request, too, which waits behind it.
    if (this.#opening === undefined) this.#opened().catch(() => {});
    return this.#send(request);
  }

  #send(request: WriterRequest): Promise<Succeeded> {
    const worker = this.#worker;
    if (worker === undefined) {
      return Promise.reject(closedError());
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage(request);
    });
  }

  #settle(answer: WriterAnswer): void {
    const waiting = this.#waiting.shift();
    if (answer.kind !== "failed") waiting?.resolve(answer);
    else {
      waiting?.reject(new StoreFailedError(`Cannot write: ${answer.message}`));
    }
  }

  #die(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return;
    this.#options.logger.error("the thread that writes died", { reason });
    this.#end();
  }

  #end(
    error: Error = new StoreFailedError(
      "Cannot write: the thread that writes has ended",
    ),
  ): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#opening = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }
}

function closedError(): Error {
  return new StoreFailedError("Cannot write: the store is closed");
}
