/**
 * The key that a command is about.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { RedisArgument, RedisCommand } from "./client.ts";

/** Commands of one key that follow each other and go the same way. */
export interface KeyRun {
  /** Index of the first command. */
  readonly start: number;
  /** One past the index of the last. */
  readonly end: number;
  /** The key. */
  readonly key: Uint8Array;
}

/**
 * Divides commands into runs: commands next to each other whose key is the very
 * same object form one.
 *
 * @throws {RangeError} When a command has no key.
 */
export function keyRuns(commands: readonly RedisCommand[]): readonly KeyRun[] {
  const runs: KeyRun[] = [];
  for (let start = 0; start < commands.length;) {
    const key = commandKey(commands[start]!);
    let end = start + 1;
    while (end < commands.length && commandKey(commands[end]!) === key) end++;
    runs.push({
      start,
      end,
      key: typeof key === "string" ? Buffer.from(key) : key,
    });
    start = end;
  }
  return runs;
}

/** Scripts name the number of their keys first; all others begin with the key. */
function commandKey(command: RedisCommand): RedisArgument {
  const [verb] = command;
  const key = verb === "EVAL" || verb === "EVALSHA" ? command[3] : command[1];
  if (key !== undefined) return key;
  throw new RangeError(`Cannot find the key of the command "${verb}"`);
}
