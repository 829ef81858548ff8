/**
 * Controls the thread that sends load from the thread that measures.
 *
 * @module
 */

/** Requests of one kind, sent repeatedly over several connections. */
export interface LoadJob {
  /** The ports of the service on this machine, which share the connections. */
  readonly ports: readonly number[];
  /** Number of connections, each with one request under way. */
  readonly connections: number;
  /** The requests, taken in turns. */
  readonly requests: readonly Uint8Array[];
  /** The status that counts as success. */
  readonly status: number;
  /** How long the load is measured, in milliseconds. */
  readonly ms: number;
}

/**
 * Leases tasks and completes them until a time is over or `tasks` are leased.
 */
export interface DrainJob {
  /** The ports of the service on this machine, which share the connections. */
  readonly ports: readonly number[];
  /** Number of connections, each with one request under way. */
  readonly connections: number;
  /** The Host header, which names the tenant. */
  readonly host: string;
  /** The bearer token. */
  readonly token: string;
  /** Number of tasks that each lease request asks for. */
  readonly batch: number;
  /**
   * Whether the response to a lease request shows the tasks or only their
   * leases.
   */
  readonly answer: "representation" | "minimal";
  /** The most tasks that are leased in all. */
  readonly tasks: number;
  /** The longest time the job may take, in milliseconds. */
  readonly ms: number;
}

/** The result of a job. */
export interface LoadResult {
  /** Successful responses, or tasks, per second. */
  readonly perSecond: number;
  /** Time of each successful request in milliseconds, the shortest first. */
  readonly latenciesMs: Float64Array;
  /** All requests, also those before the load was measured. */
  readonly requests: number;
  /** Tasks that were missing in responses to lease requests. */
  readonly missing: number;
}

/** The message that gives the thread a job. */
export type LoadCall =
  | { readonly kind: "load"; readonly job: LoadJob }
  | { readonly kind: "drain"; readonly job: DrainJob };

/** The message with which the thread answers. */
export type LoadReply =
  | { readonly kind: "ok"; readonly result: LoadResult }
  | { readonly kind: "failed"; readonly message: string };

/**
 * How long a load runs before it is measured: by then the runtime has compiled
 * the hot code.
 */
export const WARM_UP_MS = 3_000;

/** A thread that runs one job at a time. */
export class LoadThread {
  readonly #worker = new Worker(new URL("load_worker.ts", import.meta.url), {
    type: "module",
  });

  /**
   * Runs a job.
   *
   * @throws {Error} When a request failed.
   */
  async run(call: LoadCall): Promise<LoadResult> {
    const answered = Promise.withResolvers<LoadReply>();
    this.#worker.onmessage = (event: MessageEvent<LoadReply>) =>
      answered.resolve(event.data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      answered.reject(new Error(`Cannot send load: ${event.message}`));
    };
    this.#worker.postMessage(call);
    const reply = await answered.promise;
    if (reply.kind === "ok") return reply.result;
    throw new Error(reply.message);
  }

  /** Ends the thread. */
  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}
