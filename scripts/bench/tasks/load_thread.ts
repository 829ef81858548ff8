/**
 * The load thread as seen from the thread that measures.
 *
 * @module
 */

import type { DrainJob, LoadJob, LoadResult } from "./load_job.ts";

/** What the thread is asked. */
export type LoadCall =
  | { readonly kind: "load"; readonly job: LoadJob }
  | { readonly kind: "drain" | "sdk"; readonly job: DrainJob };

/** What it answers. */
export type LoadReply =
  | { readonly kind: "ok"; readonly result: LoadResult }
  | { readonly kind: "failed"; readonly message: string };

/** A thread that does one job at a time. */
export class LoadThread {
  readonly #worker = new Worker(new URL("load_worker.ts", import.meta.url), {
    type: "module",
  });

  /** Sends requests for a while. */
  load(job: LoadJob): Promise<LoadResult> {
    return this.#ask({ kind: "load", job });
  }

  /** Takes tasks for a while. */
  drain(job: DrainJob): Promise<LoadResult> {
    return this.#ask({ kind: "drain", job });
  }

  /** Takes tasks for a while, by the SDK's worker. */
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
