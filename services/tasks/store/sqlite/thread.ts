/**
 * The threads of the store. All run the service's own program, which looks at its
 * own name to see what it is there for; so an executable that is one file has
 * them too.
 *
 * @module
 */

import type {
  ThreadName,
  ThreadScope,
  WalAnswer,
  WalRequest,
  WriterAnswer,
  WriterRequest,
} from "./thread_messages.ts";
import { serveCheckpointer } from "./wal_checkpointer.ts";
import { serveWriter } from "./writer_thread.ts";

const PREFIX = "tasks store ";

/** Starts a thread that runs a program, which has to call {@linkcode serveThread}. */
export function startThreadOf(program: string | URL, name: ThreadName): Worker {
  return new Worker(program, { type: "module", name: PREFIX + name });
}

/** Starts a thread by the program that is there for nothing else. */
export function startOwnThread(name: ThreadName): Worker {
  return startThreadOf(new URL("./thread_program.ts", import.meta.url), name);
}

/**
 * Serves as a thread of the store where the program was started as one.
 *
 * @returns whether it was
 */
export function serveThread(scope: typeof globalThis): boolean {
  const name = "name" in scope ? scope.name : undefined;
  const isThread = "WorkerGlobalScope" in scope && !("document" in scope);
  if (!isThread || typeof name !== "string" || !name.startsWith(PREFIX)) {
    return false;
  }
  // A thread of this name is sent only what it understands.
  switch (name.slice(PREFIX.length)) {
    case "writer":
      serveWriter(
        scope as unknown as ThreadScope<WriterRequest, WriterAnswer>,
      );
      return true;
    case "checkpointer":
      serveCheckpointer(scope as unknown as ThreadScope<WalRequest, WalAnswer>);
      return true;
    default:
      return false;
  }
}
