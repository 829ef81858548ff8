/**
 * What the tools for memories work with, and how their calls end.
 *
 * @module
 */

import type { ClientClock } from "../../../sdk/memory/client_clock.ts";
import { MemError } from "../../../sdk/memory/errors.ts";
import type { Mem } from "../../../sdk/memory/mem.ts";
import {
  errorResult,
  type McpCall,
  type ToolResult,
} from "../../shared/mcp/catalog.ts";

/** The methods of a client that the tools need; `Mem` has them. */
export type MemoryClient = Pick<
  Mem,
  | "analyze"
  | "ask"
  | "deleteMemory"
  | "forget"
  | "getRememberBulkStatus"
  | "health"
  | "listMemories"
  | "recall"
  | "remember"
  | "rememberBulk"
  | "restore"
  | "waitForRememberJobs"
>;

/** On whose behalf a tool works. */
export interface MemoryContext {
  /** The client, which has the caller's rights. */
  readonly mem: MemoryClient;
  /**
   * The namespace of calls that name none.
   *
   * @default the client's
   */
  readonly namespace?: string | undefined;
}

/** A call of one of the tools. */
export type MemoryCall = McpCall<MemoryContext>;

/**
 * Does the work of a tool. What the relayer refuses, and arguments that it
 * cannot take, become a result that says so.
 *
 * @throws {unknown} Everything else, and the signal's reason.
 */
export async function withFaults(
  call: MemoryCall,
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    call.signal.throwIfAborted();
    if (error instanceof MemError) {
      const { retryAfterSeconds: seconds } = error;
      const hint = seconds === undefined
        ? ""
        : `; try again in ${seconds} seconds`;
      return errorResult(error.message + hint);
    }
    if (error instanceof TypeError) return errorResult(error.message);
    throw error;
  }
}

/** How often a client is told that a call is still under way. */
const TICK_MS = 2_000;

/** Tells a client every two seconds that a call is still under way. */
export async function withTicks<T>(
  call: MemoryCall,
  { clock, message, work }: {
    readonly clock: ClientClock;
    readonly message: string;
    readonly work: () => Promise<T>;
  },
): Promise<T> {
  let ticks = 0;
  let timer: ReturnType<ClientClock["setTimer"]> | undefined;
  const tick = (): void => {
    call.progress(ticks++, { message });
    timer = clock.setTimer(tick, TICK_MS);
  };
  tick();
  try {
    return await work();
  } finally {
    timer?.cancel();
  }
}

/** The namespace of a call; undefined for the client's. */
export function namespaceOf(
  { namespace }: { readonly namespace?: string | undefined },
  call: MemoryCall,
): string | undefined {
  return namespace ?? call.context.namespace;
}
