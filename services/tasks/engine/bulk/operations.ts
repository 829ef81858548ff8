/**
 * Runs bulk actions in the background, taking turns after each portion, and
 * continues them after a restart. One that fails or waits for room in the store
 * holds up no other.
 *
 * The instance that was asked works on an operation, as its note says. When it
 * is gone, the one that holds the duty takes the note over. Should two work on
 * an operation, each portion is written by one of them, with the operation's
 * next version.
 *
 * @module
 */

import { pause } from "../../../shared/periodic.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { StoreBusyError, type Write } from "../../store/store.ts";
import type { Engine } from "../engine.ts";
import { Maintainer } from "../maintainer.ts";
import {
  type AnswerPlace,
  type BulkProgress,
  listOperations,
  type Operation,
  type OperationName,
  type OperationNote,
  puttingNote,
  puttingOperation,
  readOperation,
  removingNote,
  removingOperation,
  runningNotes,
  toName,
} from "./operation.ts";
import { type BulkState, runPortion } from "./portion.ts";

/** How many operations of a tenant may run at once. */
export const MAX_RUNNING = 10;
/** How many operations of a tenant are stored, finished ones included. */
const MAX_KEPT = 100;
/** The wait after a failure, in milliseconds. */
const PAUSE_MS = 1_000;
/**
 * Failures in a row after which an operation ends as failed. When the store
 * fails or is busy, that is no failure of the operation.
 */
const MAX_FAILURES = 60;

/** Milliseconds between two looks for operations of instances that are gone. */
const INTERVAL_MS = 60_000;

interface Queued extends OperationNote {
  readonly failures: number;
}

/** The outcome of starting an operation. */
type StartOutcome =
  | { readonly kind: "ok" }
  /** Too many operations of the tenant are running. */
  | { readonly kind: "too_many" }
  /**
   * Another request with the same key is being answered; nothing was started.
   */
  | { readonly kind: "conflict" };

/** The outcome of performing an order for a request with a key. */
type PerformOutcome =
  | { readonly kind: "done"; readonly progress: BulkProgress }
  /**
   * The operation continues in the background; a repeated request gets its
   * answer.
   */
  | { readonly kind: "running" }
  /** Another request with the same key is being answered; nothing was done. */
  | { readonly kind: "conflict" };

/** Options of {@linkcode Operations}. */
interface OperationsOptions {
  /**
   * Returns the writes that store the answer of an ended operation where a
   * repeated request finds it.
   */
  readonly answerWrites: (
    ended: Operation,
    place: AnswerPlace,
  ) => readonly Write[];
}

/** Runs operations. The engine's store has to be open from start to stop. */
export class Operations extends Maintainer {
  readonly #engine: Engine;
  readonly #options: OperationsOptions;
  readonly #queue: Queued[] = [];
  /** The ids of the operations that this instance works on. */
  readonly #mine = new Set<string>();
  /** The operations that requests are waiting for. */
  readonly #awaited = new Set<Promise<unknown>>();
  /** The portions that run, and operations that wait after a failure. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  #isRunning = false;

  /** Creates the runner; {@linkcode start} lets it run. */
  constructor(engine: Engine, options: OperationsOptions) {
    super({
      parts: engine.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot find bulk actions to continue: the store failed",
      duty: "bulk",
    });
    this.#engine = engine;
    this.#options = options;
    engine.parts.instances.onChange((change) => {
      if (change.kind !== "answered" || change.gone.length === 0) return;
      if (this.isMine) this.wake();
    });
  }

  /**
   * Continues the operations that were running when an instance stopped, now
   * and later.
   *
   * @returns how many operations continue
   * @throws {Error} when the store fails
   */
  override async start(): Promise<number> {
    const count = this.isMine ? await this.runOnce() : 0;
    super.start();
    return count;
  }

  /**
   * Takes over the operations on which no instance works.
   *
   * @returns how many operations these are
   * @throws {Error} when the store fails
   */
  override async runOnce(): Promise<number> {
    const { store, instances } = this.#engine.parts;
    const notes = [];
    for await (const note of runningNotes(store)) notes.push(note);
    const gone = await instances.findGone(
      notes.flatMap(({ instance }) => instance ?? []),
    );
    let count = 0;
    for (const note of notes) {
      if (this.stopping.aborted) break;
      const { instance, version } = note;
      if (instance === instances.id) {
        // A stop has left it.
        if (this.#mine.has(note.id)) continue;
        this.#enqueue(note);
      } else if (instance === undefined || gone.has(instance)) {
        const taken = { ...note, version: version + 1, instance: instances.id };
        const [result] = await store.commit([{ writes: [puttingNote(taken)] }]);
        if (result?.kind !== "ok") continue;
        this.#enqueue(taken);
      } else continue;
      count++;
    }
    return count;
  }

  /**
   * Stops after the portions that are being written; the next start continues,
   * or another instance.
   */
  override async stop(): Promise<void> {
    this.#stopping.abort();
    await super.stop();
    await Promise.allSettled(this.#awaited);
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /**
   * Starts an operation in the background.
   *
   * @param writes what is written in the same commit
   * @throws {Error} when the store fails
   */
  async order(
    operation: Operation,
    writes: readonly Write[],
  ): Promise<StartOutcome> {
    const { store } = this.#engine.parts;
    const { tenantId } = operation.order;
    const known = await listOperations(store, { tenantId, limit: 1_000 });
    // An operation that a request waits for does not count, since the request
    // is a limit by itself.
    const running = known.filter(({ status, answersTo }) =>
      status === "running" && answersTo === undefined
    );
    if (running.length >= MAX_RUNNING) return { kind: "too_many" };
    const old = known.filter(({ status }) => status !== "running")
      .slice(0, Math.max(0, known.length + 1 - MAX_KEPT));
    const note = await this.#begin(operation, [
      ...old.map(removingOperation),
      ...writes,
    ]);
    if (note === undefined) return { kind: "conflict" };
    this.#enqueue(note);
    return { kind: "ok" };
  }

  /**
   * Performs an order for a request with a key. Once begun, the operation runs
   * to its end, even after a crash, and its answer is written with the end.
   *
   * @param writes the writes to commit as the operation begins
   * @throws {Error} when the store fails before it is known to have begun
   */
  async perform(
    begun: Operation & { readonly answersTo: AnswerPlace },
    writes: readonly Write[],
  ): Promise<PerformOutcome> {
    const note = await this.#begin(begun, writes);
    if (note === undefined) return { kind: "conflict" };
    const running = this.#runToEnd(begun);
    this.#awaited.add(running);
    try {
      const ended = await running;
      return ended?.status === "done"
        ? { kind: "done", progress: ended.progress }
        : { kind: "running" };
    } catch (error) {
      this.#warn({ ...note, failures: 1 }, error);
      return { kind: "running" };
    } finally {
      this.#awaited.delete(running);
      // The queue does what is left, if only to remove the note.
      this.#enqueue(note);
    }
  }

  /** Runs portion after portion until the end, or until this is stopped. */
  async #runToEnd(begun: Operation): Promise<Operation | undefined> {
    let operation: Operation | undefined = begun;
    while (operation?.status === "running" && !this.#isStopped) {
      operation = await this.#advance(toName(begun));
    }
    return operation;
  }

  /**
   * Runs the next portion of an operation.
   *
   * @param onRest called when the portion begins to wait for room in the store
   * @returns the operation after the portion; undefined when it does not exist
   * @throws {Error} when the store fails; the next call goes on from the stored
   * state
   */
  async #advance(
    name: OperationName,
    onRest?: () => void,
  ): Promise<Operation | undefined> {
    const { store, clock } = this.#engine.parts;
    const operation = await readOperation(store, name);
    if (operation?.status !== "running") return operation;
    let after = operation;
    const state = await runPortion(this.#engine, {
      ...operation,
      inSameCommit: (next) => {
        after = advanced(operation, { next, nowMs: clock.nowMs() });
        return this.#buildWrites(after);
      },
      rest: async (delayMs) => {
        onRest?.();
        await pause(delayMs, { clock, signal: this.#stopping.signal });
      },
    });
    // Without a state, another call has advanced the operation; the next call
    // reads how far it is.
    return state === undefined ? operation : after;
  }

  /**
   * The writes after a portion. An operation that a request waits for leaves
   * nothing but its answer when it ends.
   */
  #buildWrites(after: Operation): readonly Write[] {
    const { answersTo, status } = after;
    if (status === "running" || answersTo === undefined) {
      return [puttingOperation(after)];
    }
    return [
      removingOperation({ ...after, version: after.version - 1 }),
      ...this.#options.answerWrites(after, answersTo),
    ];
  }

  /** Writes a new operation; undefined when its writes conflict. */
  async #begin(
    operation: Operation,
    writes: readonly Write[],
  ): Promise<OperationNote | undefined> {
    const { store, instances } = this.#engine.parts;
    const note: OperationNote = {
      ...toName(operation),
      version: 1,
      instance: instances.id,
    };
    // The note is written first: a note without an operation is harmless.
    const [noted] = await store.commit([{ writes: [puttingNote(note)] }]);
    if (noted?.kind !== "ok") return undefined;
    this.#mine.add(note.id);
    let isKnown = false;
    try {
      const [result] = await store.commit([{
        writes: [puttingOperation(operation), ...writes],
      }]);
      isKnown = true;
      if (result?.kind === "ok") return note;
    } finally {
      // The operation may or may not be written; running it finds out.
      if (!isKnown) this.#enqueue(note);
    }
    this.#mine.delete(note.id);
    await store.commit([{ writes: [removingNote(note)] }]);
    return undefined;
  }

  #enqueue(note: OperationNote): void {
    this.#mine.add(note.id);
    this.#queue.push({ ...note, failures: 0 });
    this.#wake();
  }

  #wake(): void {
    if (this.#isRunning || this.#queue.length === 0) return;
    this.#isRunning = true;
    this.#track(this.#run());
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  /** Runs a portion of one operation after the other. */
  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      const resting = Promise.withResolvers<void>();
      const turn = this.#turn(next, resting.resolve);
      this.#track(turn);
      // While a portion waits for room in the store, others go on.
      await Promise.race([turn, resting.promise]);
    }
    this.#isRunning = false;
  }

  /** Runs a portion of an operation, and puts the operation back if it goes on. */
  async #turn(queued: Queued, onRest: () => void): Promise<void> {
    const { instances } = this.#engine.parts;
    if (instances.isFenced && !await instances.mayAct()) {
      return this.#track(this.#tryLater(queued));
    }
    // This instance has joined again, and the note is taken over like others.
    if (queued.instance !== instances.id) {
      return void this.#mine.delete(queued.id);
    }
    try {
      if (await this.#runOne(queued, onRest)) {
        this.#queue.push({ ...queued, failures: 0 });
        this.#wake();
      }
    } catch (error) {
      const failures = queued.failures + (isOfStore(error) ? 0 : 1);
      this.#warn({ ...queued, failures }, error);
      const isGivenUp = failures >= MAX_FAILURES && await this.#fail(queued);
      if (!isGivenUp) this.#track(this.#tryLater({ ...queued, failures }));
    }
  }

  async #tryLater(queued: Queued): Promise<void> {
    const { clock } = this.#engine.parts;
    await pause(PAUSE_MS, { clock, signal: this.#stopping.signal });
    this.#queue.push(queued);
    this.#wake();
  }

  /** Runs a portion; returns whether there are more. */
  async #runOne(note: OperationNote, onRest: () => void): Promise<boolean> {
    const operation = await this.#advance(note, onRest);
    if (operation?.status === "running") return true;
    await this.#finish(note);
    return false;
  }

  /** Removes the note of an operation that has ended. */
  async #finish(note: OperationNote): Promise<void> {
    await this.#engine.parts.store.commit([{ writes: [removingNote(note)] }]);
    this.#mine.delete(note.id);
  }

  #warn({ id, failures }: Queued, error: unknown): void {
    this.#engine.parts.logger.warn("Cannot continue bulk action", {
      operation: id,
      failures,
      error: String(error),
    });
  }

  /** Ends an operation as failed; returns false if that fails, too. */
  async #fail(note: OperationNote): Promise<boolean> {
    const { store, clock, logger } = this.#engine.parts;
    try {
      const operation = await readOperation(store, note);
      if (operation?.status === "running") {
        const { answersTo: place, ...rest } = operation;
        const nowMs = clock.nowMs();
        const failed: Operation = {
          ...rest,
          version: operation.version + 1,
          status: "failed",
          updatedAtMs: nowMs,
          finishedAtMs: nowMs,
        };
        // A client that repeats its request gets an answer that names the
        // operation.
        const answer = place === undefined
          ? []
          : this.#options.answerWrites(failed, place);
        const writes = [puttingOperation(failed), ...answer];
        await store.commit([{ writes }]);
      }
      await this.#finish(note);
      return true;
    } catch (error) {
      logger.error("Cannot abandon bulk action: the store failed", {
        operation: note.id,
        error: String(error),
      });
      return false;
    }
  }
}

/** Whether an error says that the store failed, or has no room. */
function isOfStore(error: unknown): boolean {
  return error instanceof StoreFailedError || error instanceof StoreBusyError;
}

function advanced(
  operation: Operation,
  { next: { progress, from }, nowMs }: {
    readonly next: BulkState;
    readonly nowMs: number;
  },
): Operation {
  const common = {
    ...operation,
    version: operation.version + 1,
    progress,
    updatedAtMs: nowMs,
  };
  return from === undefined
    ? { ...common, status: "done", finishedAtMs: nowMs }
    : { ...common, from };
}
