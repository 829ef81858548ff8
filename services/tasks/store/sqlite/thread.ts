/**
 * The threads of the store. All run one program, which looks at its own name to
 * see what it is there for; so an executable that is one file has them too.
 *
 * @module
 */

import {
  type LogKeeperAnswer,
  type LogKeeperRequest,
  serveLogKeeper,
} from "./wal_checkpointer.ts";
import type { WriterAnswer, WriterRequest } from "./writer_messages.ts";
import { serveWriter, type ThreadScope } from "./writer_thread.ts";

/** What a thread is there for. */
export type ThreadName = "writer" | "log_keeper";

/** Starts a thread. */
export type StartThread = (name: ThreadName) => Worker;

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
  // Whoever starts a thread of this name sends what it understands.
  switch (name.slice(PREFIX.length)) {
    case "writer":
      serveWriter(
        scope as unknown as ThreadScope<WriterRequest, WriterAnswer>,
      );
      return true;
    case "log_keeper":
      serveLogKeeper(
        scope as unknown as ThreadScope<LogKeeperRequest, LogKeeperAnswer>,
      );
      return true;
    default:
      return false;
  }
}
