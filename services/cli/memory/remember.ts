/**
 * `tercet memory remember`: stores a text, or the facts in it.
 *
 * @module
 */

import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  numberOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import type { CliIo } from "../tasks/connection.ts";
import { CONNECTION, readArgument, withMemory } from "./connection.ts";

const FLAGS = {
  ...CONNECTION,
  extract: switchOption({
    help: "Remember the facts in the text, each by itself.",
  }),
  importance: numberOption({
    min: 0,
    max: 1,
    help: "How much the memory matters, from 0 to 1.",
  }),
  supersedes: textOption({
    help: "The id of the memory that this one replaces.",
  }),
  async: switchOption({
    help: "Do not wait until the memory is stored.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet memory remember TEXT|-",
  about: "Remembers a text, or standard input, waits until it is stored, and " +
    "prints the memory's id. Exit codes: 0 success, 1 refused or no answer, 2 " +
    "invalid arguments.",
  positionals: 1,
};

/** Runs the command; returns the exit code. */
export async function runRemember(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [given = ""] } = read;
  const { json, extract, async: isAsync, importance, supersedes } = values;
  if (extract && (importance !== undefined || supersedes !== undefined)) {
    const fault = "Cannot use --extract: the facts that are found have their " +
      "own importance, and replace nothing";
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const text = await readArgument(given, io);
  if (text.trim() === "") {
    const fault = `Cannot remember ${quote(given)}: it is empty`;
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  return await withMemory(values, { io, command: COMMAND }, async (mem) => {
    if (extract) {
      const result = isAsync
        ? await mem.analyze(text)
        : await mem.analyzeAndWait(text);
      if (json) io.out(JSON.stringify(result));
      else if (result.facts.length === 0) io.err("No facts.");
      for (const { id, text: fact } of json ? [] : result.facts) {
        io.out(`${id}  ${fact}`);
      }
      const failed = "failed" in result ? result.failed + result.timedOut : 0;
      if (failed > 0) io.err(`Cannot store ${failed} of the facts`);
      return failed > 0 ? 1 : 0;
    }
    const notes = { importance, supersedes };
    const result = isAsync
      ? await mem.remember(text, notes)
      : await mem.rememberAndWait(text, notes);
    const id = "id" in result ? result.id : result.job_id;
    io.out(json ? JSON.stringify(result) : id);
    return 0;
  });
}
