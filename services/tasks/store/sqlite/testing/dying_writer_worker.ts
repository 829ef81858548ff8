/**
 * A writing thread for tests that opens the database and crashes at the first
 * group.
 *
 * @module
 */

import type { WriterAnswer, WriterRequest } from "../thread_messages.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<WriterRequest>) => void) | null;
  postMessage(answer: WriterAnswer): void;
}

const scope = self as unknown as WorkerScope;

scope.onmessage = ({ data: request }) => {
  if (request.kind === "apply") throw new Error("the thread was made to die");
  scope.postMessage({ kind: "done", numbers: [] });
};
