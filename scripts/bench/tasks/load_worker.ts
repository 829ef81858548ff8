/**
 * The program of the load thread, which sends requests without being delayed by
 * other work of the measuring thread.
 *
 * @module
 */

import { runDrain } from "./drain_loop.ts";
import type { LoadResult } from "./load_job.ts";
import { runLoad } from "./load_loop.ts";
import type { LoadCall, LoadReply } from "./load_thread.ts";
import { runSdk } from "./sdk_loop.ts";

/** The part of a worker's global scope that this thread uses. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<LoadCall>) => void) | null;
  postMessage(reply: LoadReply): void;
}

serve(self as unknown as WorkerScope);

function serve(scope: WorkerScope): void {
  scope.onmessage = ({ data }) => {
    void answer(data).then((reply) => scope.postMessage(reply));
  };
}

async function resultOf(call: LoadCall): Promise<LoadResult> {
  switch (call.kind) {
    case "load":
      return await runLoad(call.job);
    case "drain":
      return await runDrain(call.job);
    case "sdk":
      return await runSdk(call.job);
  }
}

async function answer(call: LoadCall): Promise<LoadReply> {
  try {
    return { kind: "ok", result: await resultOf(call) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "failed", message };
  }
}
