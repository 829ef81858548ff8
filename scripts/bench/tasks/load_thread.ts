/**
 * Controls the load thread from the thread that measures.
 *
 * @module
 */

import type { DrainJob, LoadJob, LoadResult } from "./load_job.ts";

/** The message that gives the load thread a job. */
export type LoadCall =
  | { readonly kind: "load"; readonly job: LoadJob }
  | { readonly kind: "drain" | "sdk"; readonly job: DrainJob };

/** The message with which the load thread answers. */
export type LoadReply =
  | { readonly kind: "ok"; readonly result: LoadResult }
  | { readonly kind: "failed"; readonly message: string };

/** A thread that runs one job at a time. */
export class LoadThread {
  readonly #worker = new Worker(new URL("load_worker.ts", import.meta.url), {
    type: "module",
  });

  /** Sends requests repeatedly, as the job says. */
  load(job: LoadJob): Promise<LoadResult> {
    return this.#ask({ kind: "load", job });
  }

  /** Leases tasks, as the job says. */
  drain(job: DrainJob): Promise<LoadResult> {
    return this.#ask({ kind: "drain", job });
  }

  /** Leases tasks with the SDK's worker, as the job says. */
  drainBySdk(job: DrainJob): Promise<LoadResult> {
    return this.#ask({ kind: "sdk", job });
  }

  /** Ends the thread. */
  [Symbol.dispose](): void {
    this.#worker.terminate();
  }

  async #ask(call: LoadCall): Promise<LoadResult> {
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
}
