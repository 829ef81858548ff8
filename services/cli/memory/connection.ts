/**
 * The common parts of the commands for users of a relayer: its URL, the
 * credential, the client, and the output of errors.
 *
 * @module
 */

import { Mem, MemError } from "../../../mod.ts";
import { systemClock } from "../../shared/clock.ts";
import {
  type CommandShape,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { type CliIo, readSecret } from "../tasks/connection.ts";

/** Flags that name an account and its delegate's key. */
export const KEY_FLAGS = {
  account: textOption({
    help: "The account's id; TERCET_ACCOUNT when it is not given.",
  }),
  keyFile: textOption({
    help: "File with the delegate's private key. Default: the variable " +
      "TERCET_KEY.",
  }),
} as const;

/** Flags of every command that sends requests to a relayer. */
export const CONNECTION = {
  relayer: textOption({
    help: "Address of the relayer. Default: the variable TERCET_RELAYER, or " +
      "http://localhost:8000.",
  }),
  ...KEY_FLAGS,
  tokenFile: textOption({
    help: "File with an access token, in place of account and key. Default: " +
      "the variable TERCET_TOKEN.",
  }),
  namespace: textOption({
    help: "The namespace. Default: the variable TERCET_NAMESPACE, the only " +
      'one of the token, or "default".',
  }),
  json: switchOption({ help: "Write JSON, one value a line." }),
} as const;

/** Values of {@linkcode KEY_FLAGS}. */
type KeyValues = Readonly<Record<keyof typeof KEY_FLAGS, string | undefined>>;

/** Values of {@linkcode CONNECTION} that make a client. */
type ConnectionValues =
  & KeyValues
  & Readonly<
    Record<"relayer" | "tokenFile" | "namespace", string | undefined>
  >;

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
  const read = await readSecret(
    { variable: "TERCET_KEY", path: values.keyFile, what: "key file" },
    io,
  );
  if (read.kind === "done") return read;
  if (read.text !== "") return { kind: "key", key: read.text, accountId };
  const fault =
    "Cannot authenticate: set TERCET_KEY or use --key-file; there " +
    "is no flag for the key itself, because others on this machine can see " +
    "arguments";
  return wrongArguments(fault, { io, command });
}

/** A client, or the exit code when its URL or credential is missing or wrong. */
type Connected =
  | { readonly kind: "client"; readonly mem: Mem }
  | { readonly kind: "done"; readonly exitCode: number };

/**
 * Makes a client of the relayer that flags or the environment name. A flag wins
 * over a variable; among variables the token wins over the key.
 */
export async function connectMemory(
  values: ConnectionValues,
  { io, command }: Caller,
): Promise<Connected> {
  const hasOwn = values.account !== undefined || values.keyFile !== undefined;
  if (hasOwn && values.tokenFile !== undefined) {
    const fault = "Cannot authenticate: --token-file takes the place of " +
      "--account and --key-file; use one of them";
    return wrongArguments(fault, { io, command });
  }
  const token = hasOwn ? undefined : await readSecret(
    { variable: "TERCET_TOKEN", path: values.tokenFile, what: "token file" },
    io,
  );
  if (token?.kind === "done") return token;
  const accessToken = token?.text ?? "";
  const own = accessToken === ""
    ? await readOwnKey(values, { io, command })
    : undefined;
  if (own?.kind === "done") return own;
  const serverUrl = values.relayer ?? io.readVariable("TERCET_RELAYER");
  const namespace = values.namespace ?? io.readVariable("TERCET_NAMESPACE");
  const common = {
    ...(io.fetch === undefined ? {} : { fetch: io.fetch }),
    clock: io.clock ?? systemClock,
    ...(serverUrl === undefined || serverUrl === "" ? {} : { serverUrl }),
    ...(namespace === undefined || namespace === "" ? {} : { namespace }),
  };
  try {
    const mem = own === undefined
      ? Mem.create({ ...common, accessToken })
      : Mem.create({ ...common, key: own.key, accountId: own.accountId });
    return { kind: "client", mem };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return wrongArguments(error.message, { io, command });
  }
}

/**
 * Runs a command with a client, which is destroyed at the end; on an error of
 * the client writes why it failed and returns 1.
 */
export async function withMemory(
  values: ConnectionValues,
  { io, command }: Caller,
  use: (mem: Mem) => Promise<number>,
): Promise<number> {
  const connected = await connectMemory(values, { io, command });
  if (connected.kind === "done") return connected.exitCode;
  const { mem } = connected;
  try {
    return await use(mem);
  } catch (error) {
    io.progress?.("");
    if (!(error instanceof MemError || error instanceof TypeError)) throw error;
    io.err(error.message);
    return 1;
  } finally {
    mem.destroy();
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
