/**
 * Serves memories to one client, such as an agent, over standard input and
 * output.
 *
 * @module
 */

import { systemClock } from "../../shared/clock.ts";
import { readCommand, wrongArguments } from "../../shared/command_line.ts";
import { attempt } from "../../shared/command_work.ts";
import { processSignals, type SignalSource } from "../../shared/lifecycle.ts";
import { createLogger, type Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import { stderrWriter } from "../../shared/stderr_writer.ts";
import type { CliIo } from "../tasks/connection.ts";
import { openMemory } from "./connection.ts";
import { findMemoryPlace, MEMORY_FLAGS } from "./memory_place.ts";
import { serveMemories } from "./serve_memories.ts";
import type { UserPlace } from "./user_folders.ts";

const COMMAND = {
  usage:
    "tercet mcp --local [FOLDER] | --relayer URL --account ID --key-file " +
    "FILE | --credentials",
  about:
    "Serves memories to an agent: a server of the Model Context Protocol " +
    "over standard input and output, which programs for agents start by " +
    "themselves; see tercet mcp install --help. It signs requests itself, so " +
    "that the key stays on this machine. With --local it needs no relayer: " +
    "memories are encrypted in a folder, which several agents may use at " +
    "once, and no port is opened. It ends when standard input ends. Exit " +
    "codes: 0 success, 1 failure, 2 invalid arguments.",
  positionals: 1,
  leastPositionals: 0,
} as const;

/** What the command gets from the process it runs in. */
interface McpIo extends CliIo {
  /** The machine and the user's environment. */
  readonly user: UserPlace;
  /**
   * Where SIGTERM and SIGINT come from.
   *
   * @default this process
   */
  readonly signals?: SignalSource;
}

/**
 * How long the folder waits to be opened, so that the first answers of the
 * server come before: opening it takes the thread for a moment.
 */
const WARM_UP_MS = 20;

/**
 * Runs the command until the client has gone.
 *
 * @returns 0 when the client has gone, 1 when the memories cannot be opened, 2
 * when the arguments are wrong.
 */
export async function runMcp(
  args: readonly string[],
  io: McpIo,
): Promise<number> {
  const read = readCommand(MEMORY_FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [folder] } = read;
  return await attempt(io, async () => {
    const place = findMemoryPlace(values, { folder, user: io.user });
    if (place.kind === "invalid") {
      return wrongArguments(place.fault, { io, command: COMMAND }).exitCode;
    }
    const clock = systemClock;
    const logger = openLogger();
    const memory = await openMemory(place, {
      ...{ clock, logger, readVariable: io.readVariable },
      namespace: values.namespace,
    });
    const warmUp = clock.setTimer(() => {
      memory.warmUp().catch((error) =>
        logger.error("Cannot open the memories; trying again with each call", {
          error: describeError(error),
        })
      );
    }, WARM_UP_MS);
    try {
      await serveMemories({
        ...{ mem: memory.mem, clock, logger },
        input: standardInput(io.signals ?? processSignals),
        write: writeStandardOutput,
      });
    } catch (error) {
      // The client has gone without an end of its input.
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    } finally {
      warmUp.cancel();
      await memory.close();
    }
    return 0;
  });
}

function openLogger(): Logger {
  return createLogger({
    format: "text",
    level: "warning",
    clock: systemClock,
    write: stderrWriter(),
  });
}

/** Reads standard input up to its end, or a signal that ends the process. */
async function* standardInput(
  signals: SignalSource,
): AsyncGenerator<Uint8Array> {
  const ended = Promise.withResolvers<null>();
  const unlisten = (["SIGTERM", "SIGINT"] as const).map((signal) =>
    signals.listen(signal, () => ended.resolve(null))
  );
  try {
    while (true) {
      const buffer = new Uint8Array(65_536);
      const count = await Promise.race([
        Deno.stdin.read(buffer),
        ended.promise,
      ]);
      if (count === null) return;
      yield buffer.subarray(0, count);
    }
  } finally {
    for (const end of unlisten) end();
  }
}

async function writeStandardOutput(line: string): Promise<void> {
  let rest = new TextEncoder().encode(line);
  while (rest.length > 0) {
    rest = rest.subarray(await Deno.stdout.write(rest));
  }
}
