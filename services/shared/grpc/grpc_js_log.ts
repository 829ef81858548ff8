/**
 * Where the lines of the gRPC library go.
 *
 * @module
 */

import { setLogger } from "@grpc/grpc-js";
import type { Logger } from "../logger.ts";

/**
 * Sends the library's own lines to `logger` instead of the console, or nowhere
 * when there is none. The library has one logger for the whole process: the
 * last one given gets the lines.
 */
export function forwardGrpcJsLog(logger: Logger | undefined): void {
  setLogger({
    debug: (...words: unknown[]) => logger?.debug(join(words), SOURCE),
    info: (...words: unknown[]) => logger?.info(join(words), SOURCE),
    error: (...words: unknown[]) => logger?.error(join(words), SOURCE),
  });
}

const SOURCE = { source: "grpc-js" } as const;

function join(words: readonly unknown[]): string {
  return words.map(String).join(" ");
}
