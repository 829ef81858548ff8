/**
 * The load thread: it sends requests, so that the thread that measures other
 * things is not in its way.
 *
 * @module
 */

import { runDrain } from "./drain_loop.ts";
import type { LoadCall, LoadReply } from "./load_thread.ts";
import { runLoad } from "./load_loop.ts";

/** What a thread knows of the one that started it. */
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

async function answer(call: LoadCall): Promise<LoadReply> {
  try {
    const result = call.kind === "load"
      ? await runLoad(call.job)
      : await runDrain(call.job);
    return { kind: "ok", result };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "failed", message };
  }
}
