/**
 * Serves memories to one client of the Model Context Protocol over lines of
 * text; runs in Deno and in Node.
 *
 * @module
 */

import { memoryCatalog } from "../../relayer/mcp/memory_catalog.ts";
import type { MemoryClient } from "../../relayer/mcp/memory_context.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { McpServer } from "../../shared/mcp/server.ts";
import { serveLines } from "../../shared/mcp/stdio.ts";
import { VERSION } from "../../shared/version.ts";

/** Options of {@linkcode serveMemories}. */
interface ServeMemoriesOptions {
  /** Works with the memories. */
  readonly mem: MemoryClient;
  /** What the client sends, in pieces of any size. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Takes a line for the client, its end included. */
  readonly write: (line: string) => Promise<void>;
  /** Sets timers. */
  readonly clock: Clock;
  /** Logs what clients are not told. */
  readonly logger: Pick<Logger, "error">;
}

/**
 * Serves until the input ends.
 *
 * @throws {unknown} What `input` or `write` throws.
 */
export async function serveMemories(
  { mem, input, write, clock, logger }: ServeMemoriesOptions,
): Promise<void> {
  const server = new McpServer({
    catalog: memoryCatalog({ version: VERSION, clock }),
    clock,
    onError: (error, method) =>
      logger.error(`Cannot answer ${method}`, { error: String(error) }),
  });
  await serveLines({ server, clock, context: () => ({ mem }), input, write });
}
