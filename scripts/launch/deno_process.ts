/**
 * Running Deno's own subcommands as the launcher and the other scripts do.
 *
 * @module
 */

import { OFFLINE_CONFIG_PATH } from "./offline_config.ts";
import { DECIDED_VARIABLE, type StdSource } from "./std_choice.ts";

/** What {@linkcode runDeno} adds to the run. */
export interface RunDenoOptions {
  /** Variables to set for the process, beside those of this one. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The path does not depend on the folder that a command runs in. */
const OFFLINE_CONFIG = decodeURIComponent(
  new URL(`../../${OFFLINE_CONFIG_PATH}`, import.meta.url).pathname,
);

/**
 * Puts the configuration of `source` into the arguments of a subcommand.
 *
 * @param args The subcommand and what follows it, such as `["test", "sdk/"]`.
 */
export function withStd(
  args: readonly string[],
  source: StdSource,
): readonly string[] {
  if (source === "jsr") return args;
  const [subcommand, ...rest] = args;
  if (subcommand === undefined) return args;
  return [subcommand, "--config", OFFLINE_CONFIG, ...rest];
}

/**
 * Returns the source that the launcher of this process has decided on.
 *
 * @throws {Error} When there is no launcher further up.
 */
export function decidedSource(): StdSource {
  const value = Deno.env.get(DECIDED_VARIABLE);
  if (value === "jsr" || value === "offline") return value;
  throw new Error(
    "Cannot choose the @std packages: this script was not started by " +
      "scripts/launch.ts; start it as a task, see `deno task`",
  );
}

/**
 * Runs the Deno that runs this script with `args`, shares the standard streams
 * with it and hands the stop signals on to it.
 *
 * @returns The exit code; 128 and the signal's number when a signal ended it.
 */
export async function runDeno(
  args: readonly string[],
  options: RunDenoOptions = {},
): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    env: { ...options.env },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const stopForwarding = forwardSignals(child);
  try {
    return (await child.status).code;
  } finally {
    stopForwarding();
  }
}

const FORWARDED: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

function forwardSignals(child: Deno.ChildProcess): () => void {
  const handlers = FORWARDED.map((signal) => {
    const handler = () => sendSignal(child, signal);
    Deno.addSignalListener(signal, handler);
    return { signal, handler };
  });
  return () => {
    for (const { signal, handler } of handlers) {
      Deno.removeSignalListener(signal, handler);
    }
  };
}

function sendSignal(child: Deno.ChildProcess, signal: Deno.Signal): void {
  // A terminal gives Ctrl+C and its own end to the whole group, the child has
  // it already; twice would mean "stop at once" to it.
  if (signal !== "SIGTERM" && Deno.stdin.isTerminal()) return;
  try {
    child.kill(signal);
  } catch (error) {
    // The child has ended between the signal and this call.
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Finding programs and packages, and trusting who offers them. */
const RUNTIME_VARIABLE =
  /^(PATH|HOME|TMPDIR|XDG_CACHE_HOME|DENO_\w+|JSR_URL|NPM_CONFIG_\w+|SSL_CERT_(FILE|DIR)|(HTTPS?|NO)_PROXY)$/i;

/**
 * Those of an environment; a process that is started with nothing else sees no
 * setting that happens to be there.
 */
export function runtimeVariables(
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment)
      .filter(([name]) => RUNTIME_VARIABLE.test(name)),
  );
}
