/**
 * The program of the npm package `@tercet/mcp`: the same as `tercet mcp` with a
 * relayer, in Node. It names nothing of Deno.
 *
 * @module
 */

import process from "node:process";
import { systemClock } from "../../shared/clock.ts";
import { readCommand, wrongArguments } from "../../shared/command_line.ts";
import { createLogger } from "../../shared/logger.ts";
import type { ReadVariable } from "../../shared/settings.ts";
import { findMemoryPlace, REMOTE_FLAGS } from "./memory_place.ts";
import { createRemoteMem } from "./remote_memory.ts";
import { readSecretFile } from "./secret_file.ts";
import { serveMemories } from "./serve_memories.ts";

const COMMAND = {
  usage: "npx -y @tercet/mcp --relayer URL --account ID --key-file FILE | " +
    "--relayer URL --token-file FILE | --credentials",
  about: "Serves memories of a relayer to an agent: a server of the Model " +
    "Context Protocol over standard input and output. It signs requests " +
    "itself, so that the key stays on this machine. It ends when standard " +
    "input ends. Exit codes: 0 success, 1 failure, 2 invalid arguments.",
} as const;

/**
 * Runs the program until the client has gone.
 *
 * @param args The arguments.
 * @param env The variables of the environment.
 * @returns The exit code.
 */
export async function runInNode(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const io = {
    out: (text: string) => void process.stdout.write(`${text}\n`),
    err: (text: string) => void process.stderr.write(`${text}\n`),
  };
  const read = readCommand(REMOTE_FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const readVariable: ReadVariable = (name) => env[name];
  const os = process.platform === "win32" ? "windows" : "linux";
  try {
    const place = findMemoryPlace({ ...read.values, local: undefined }, {
      user: { os, readVariable },
      canBeLocal: false,
    });
    if (place.kind === "invalid") {
      return wrongArguments(place.fault, { io, command: COMMAND }).exitCode;
    }
    // Without a folder there is no other place.
    if (place.kind === "local") return 1;
    const mem = await createRemoteMem(place, {
      ...{ namespace: read.values.namespace, readVariable },
      readSecret: readSecretFile,
    });
    const logger = createLogger({
      ...{
        format: "text",
        level: "warning",
        clock: systemClock,
        write: io.err,
      },
    });
    await serveMemories({
      ...{ mem, clock: systemClock, logger },
      input: process.stdin,
      write: writeLine,
    });
    mem.destroy();
    return 0;
  } catch (error) {
    io.err(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

function writeLine(line: string): Promise<void> {
  // Node 20 has no `Promise.withResolvers`.
  return new Promise((resolve, reject) => {
    process.stdout.write(
      line,
      (error) => error == null ? resolve() : reject(error),
    );
  });
}
