/**
 * The commands for users of a relayer over HTTP: `tercet memory`, and those of
 * `tercet mcp` that need no server.
 *
 * @module
 */

import { type Command, runProgram } from "../../shared/program.ts";
import type { CliIo } from "../tasks/connection.ts";

/** Runs `tercet memory`; returns the exit code. */
export async function runMemory(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  return await runProgram({
    name: "memory",
    about: "remember texts at a relayer, and find them again",
    commands: memoryCommands(io),
    examples: [
      'tercet memory remember "Ada drinks tea"',
      'tercet memory recall "What does Ada drink?"',
      "tercet memory export --file memories.jsonl",
      "tercet memory import conversations.json --dry-run",
    ],
  }, { args, io: { ...io, calledAs: "tercet memory" } });
}

/** Runs `tercet mcp`; returns the exit code. */
export async function runMcp(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  return await runProgram({
    name: "mcp",
    about: "memories for agents",
    commands: [{
      name: "token",
      about: "sign an access token with a delegate's key",
      run: async (rest) => {
        const { runToken } = await import("../mcp/token.ts");
        return await runToken(rest, io);
      },
    }],
    examples: [
      "tercet mcp token --account 0x… --key-file delegate.key --access write",
    ],
  }, { args, io: { ...io, calledAs: "tercet mcp" } });
}

function memoryCommands(io: CliIo): readonly Command[] {
  return [
    {
      name: "remember",
      about: "remember a text, or the facts in it",
      run: async (args) => {
        const { runRemember } = await import("./remember.ts");
        return await runRemember(args, io);
      },
    },
    {
      name: "recall",
      about: "find memories by a question",
      run: async (args) => {
        const { runRecall } = await import("./recall.ts");
        return await runRecall(args, io);
      },
    },
    {
      name: "ask",
      about: "answer a question from memories",
      run: async (args) => {
        const { runAsk } = await import("./recall.ts");
        return await runAsk(args, io);
      },
    },
    {
      name: "list",
      about: "list memories or namespaces",
      run: async (args) => {
        const { runList } = await import("./list.ts");
        return await runList(args, io);
      },
    },
    {
      name: "forget",
      about: "delete memories, or forget a namespace",
      run: async (args) => {
        const { runForget } = await import("./list.ts");
        return await runForget(args, io);
      },
    },
    {
      name: "export",
      about: "write memories with their texts as JSON lines",
      run: async (args) => {
        const { runExport } = await import("./export.ts");
        return await runExport(args, io);
      },
    },
    {
      name: "import",
      about: "remember conversations, memories and notes from files",
      run: async (args) => {
        const { runImport } = await import("./import/import.ts");
        return await runImport(args, io);
      },
    },
  ];
}
