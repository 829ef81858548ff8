/**
 * The common parts of the commands for users of a relayer: its URL, the
 * credential, the client, and the output of errors.
 *
 * @module
 */

import { type Mem, MemError } from "../../../mod.ts";
import { systemClock } from "../../shared/clock.ts";
import {
  type CommandShape,
  wrongArguments,
} from "../../shared/command_line.ts";
import { createLogger } from "../../shared/logger.ts";
import { switchOption } from "../../shared/options.ts";
import { describeError } from "../../shared/settled.ts";
import { type OpenMemory, openMemory } from "../mcp/connection.ts";
import {
  findMemoryPlace,
  MEMORY_FLAGS,
  type MemoryValues,
  REMOTE_FLAGS,
} from "../mcp/memory_place.ts";
import { readSecretFile } from "../mcp/secret_file.ts";
import type { CliIo } from "../tasks/connection.ts";

/** Flags that name an account and its delegate's key. */
export const KEY_FLAGS = {
  account: REMOTE_FLAGS.account,
  keyFile: REMOTE_FLAGS.keyFile,
} as const;

/** Flags of every command that works with memories. */
export const CONNECTION = {
  ...MEMORY_FLAGS,
  json: switchOption({ help: "Write JSON, one value a line." }),
} as const;

/** Values of {@linkcode KEY_FLAGS}. */
type KeyValues = Readonly<Record<keyof typeof KEY_FLAGS, string | undefined>>;

/** Where a command writes what is wrong. */
interface Caller {
  readonly io: CliIo;
  readonly command: CommandShape;
}

/** An account and its delegate's key, or the exit code when one is missing. */
type OwnKey =
  | { readonly kind: "key"; readonly key: string; readonly accountId: string }
  | { readonly kind: "done"; readonly exitCode: number };

/** Reads the account and the key that flags or the environment name. */
export async function readOwnKey(
  values: KeyValues,
  { io, command }: Caller,
): Promise<OwnKey> {
  const accountId = values.account ?? io.readVariable("TERCET_ACCOUNT") ?? "";
  if (accountId === "") {
    const fault =
      "Cannot find the account: set TERCET_ACCOUNT or use --account";
    return wrongArguments(fault, { io, command });
  }
  const { keyFile } = values;
  let key: string;
  try {
    key = keyFile === undefined
      ? io.readVariable("TERCET_KEY")?.trim() ?? ""
      : await (io.readSecret ?? readSecretFile)(keyFile, "key");
  } catch (error) {
    io.err(describeError(error));
    return { kind: "done", exitCode: 1 };
  }
  if (key !== "") return { kind: "key", key, accountId };
  const fault =
    "Cannot authenticate: set TERCET_KEY or use --key-file; there " +
    "is no flag for the key itself, because others on this machine can see " +
    "arguments";
  return wrongArguments(fault, { io, command });
}

/** Memories, or the exit code when what names them is missing or wrong. */
type Opened =
  | { readonly kind: "memory"; readonly memory: OpenMemory }
  | { readonly kind: "done"; readonly exitCode: number };

/** Opens the memories that flags or the environment name. */
async function openNamed(
  values: MemoryValues,
  { io, command }: Caller,
): Promise<Opened> {
  const { readVariable } = io;
  const clock = io.clock ?? systemClock;
  try {
    const place = findMemoryPlace(values, {
      user: { os: Deno.build.os, readVariable },
    });
    if (place.kind === "invalid") {
      return wrongArguments(place.fault, { io, command });
    }
    const memory = await openMemory(place, {
      ...{ clock, readVariable, fetch: io.fetch },
      namespace: values.namespace,
      readSecret: io.readSecret,
      logger: createLogger({
        ...{ format: "text", level: "warning", clock, write: io.err },
      }),
    });
    await memory.warmUp();
    return { kind: "memory", memory };
  } catch (error) {
    if (error instanceof TypeError) {
      return wrongArguments(error.message, { io, command });
    }
    io.err(describeError(error));
    return { kind: "done", exitCode: 1 };
  }
}

/**
 * Runs a command with the memories that flags or the environment name, which
 * are closed at the end; on an error of the client writes why it failed and
 * returns 1.
 */
export async function withMemory(
  values: MemoryValues,
  { io, command }: Caller,
  use: (mem: Mem) => Promise<number>,
): Promise<number> {
  const opened = await openNamed(values, { io, command });
  if (opened.kind === "done") return opened.exitCode;
  const { memory } = opened;
  try {
    return await use(memory.mem);
  } catch (error) {
    io.progress?.("");
    if (!(error instanceof MemError || error instanceof TypeError)) throw error;
    io.err(error.message);
    return 1;
  } finally {
    await memory.close();
  }
}

/** The longest wait for new points, in seconds; a longer one is an error. */
const MAX_WAIT_SECONDS = 600;
const DEFAULT_WAIT_SECONDS = 10;
/** How often a busy relayer is asked again. */
const MAX_BUSY_TIMES = 60;

/**
 * Makes a request again once the relayer has new points or room for it, for
 * commands that make many.
 *
 * @throws what the request throws
 */
export async function patiently<T>(
  ask: () => Promise<T>,
  { progress, clock = systemClock }: Pick<CliIo, "progress" | "clock">,
): Promise<T> {
  let busyTimes = 0;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof MemError)) throw error;
      const { status, retryAfterSeconds } = error;
      const isBusy = status === 503 && retryAfterSeconds !== undefined &&
        ++busyTimes <= MAX_BUSY_TIMES;
      if (!isBusy && status !== 429) throw error;
      const seconds = retryAfterSeconds ?? DEFAULT_WAIT_SECONDS;
      if (seconds > MAX_WAIT_SECONDS) throw error;
      const why = isBusy ? "the relayer is busy" : "the points are used up";
      progress?.(`waiting ${seconds} s: ${why}`);
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, Math.max(1, seconds) * 1_000);
      });
    }
  }
}

/** Returns the text of an argument; `-` stands for standard input. */
export async function readArgument(
  text: string,
  io: Pick<CliIo, "readInput">,
): Promise<string> {
  return text === "-" ? (await io.readInput()).trim() : text;
}

/** Returns a memory's text for one line of a terminal. */
export function shownText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
}
