/**
 * `tercet memory recall` and `ask`: find memories by a question, and answer it
 * from them.
 *
 * @module
 */

import { type CommandShape, readCommand } from "../../shared/command_line.ts";
import {
  choiceOption,
  integerOption,
  switchOption,
} from "../../shared/options.ts";
import type { CliIo } from "../tasks/connection.ts";
import { shownTime } from "../tasks/table.ts";
import {
  CONNECTION,
  readArgument,
  shownText,
  withMemory,
} from "./connection.ts";

const RANKING_FLAG = choiceOption({
  values: { fused: "fused", semantic: "semantic" },
  default: "fused",
  help: "By words and meaning, or by meaning alone.",
});

const RECALL_FLAGS = {
  ...CONNECTION,
  limit: integerOption({
    default: 10,
    min: 1,
    max: 100,
    help: "The maximum number of memories.",
  }),
  ranking: RANKING_FLAG,
  recent: switchOption({ help: "Latest first, among those that match best." }),
} as const;

const RECALL: CommandShape = {
  usage: "tercet memory recall QUESTION|-",
  about: "Finds memories by a question and prints relevance, time and text, " +
    "best first. Exit codes: 0 success, 1 refused or no answer, 2 invalid " +
    "arguments, 3 nothing found.",
  positionals: 1,
};

/** Exit code when no memory was found. */
const NOTHING_FOUND = 3;

/** Runs `recall`; returns the exit code. */
export async function runRecall(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(RECALL_FLAGS, { args, io, command: RECALL });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [given = ""] } = read;
  const query = await readArgument(given, io);
  return await withMemory(values, { io, command: RECALL }, async (mem) => {
    const { limit, ranking, recent, json } = values;
    const { results } = await mem.recall({
      ...{ query, limit, ranking },
      ...(recent ? { sort: "recent" as const } : {}),
    });
    for (const memory of results) {
      const { relevance = 1 - memory.distance, created_at: at, text } = memory;
      io.out(
        json
          ? JSON.stringify(memory)
          : `${relevance.toFixed(2)}  ${shownTime(at)}  ${shownText(text)}`,
      );
    }
    if (results.length > 0) return 0;
    io.err("No memories.");
    return NOTHING_FOUND;
  });
}

const ASK_FLAGS = {
  ...CONNECTION,
  limit: integerOption({
    default: 5,
    min: 1,
    max: 100,
    help: "The maximum number of memories that are looked at.",
  }),
  ranking: RANKING_FLAG,
} as const;

const ASK: CommandShape = {
  usage: "tercet memory ask QUESTION|-",
  about: "Answers a question from memories; --json names those that the " +
    "answer rests on. Exit codes: 0 success, 1 refused or no answer, 2 " +
    "invalid arguments.",
  positionals: 1,
};

/** Runs `ask`; returns the exit code. */
export async function runAsk(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(ASK_FLAGS, { args, io, command: ASK });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [given = ""] } = read;
  const question = await readArgument(given, io);
  return await withMemory(values, { io, command: ASK }, async (mem) => {
    const { limit, ranking, json } = values;
    const result = await mem.ask(question, { limit, ranking });
    io.out(json ? JSON.stringify(result) : result.answer);
    return 0;
  });
}
