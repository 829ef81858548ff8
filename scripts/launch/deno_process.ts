/**
 * Runs subcommands of Deno with the arguments and variables that the launcher
 * and the other scripts need.
 *
 * @module
 */

import { OFFLINE_CONFIG_PATH } from "./offline_config.ts";
import { DECIDED_VARIABLE, type StdSource } from "./std_choice.ts";

/** Options of {@linkcode runDeno}. */
export interface RunDenoOptions {
  /** Environment variables that the process gets beside those of this one. */
  readonly env?: Readonly<Record<string, string>>;
}

/** An absolute path, so that it holds in whatever folder a command runs. */
const OFFLINE_CONFIG = decodeURIComponent(
  new URL(`../../${OFFLINE_CONFIG_PATH}`, import.meta.url).pathname,
);

/**
 * Adds the flags that select the configuration of `source` to the arguments of
 * a subcommand.
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
 * @throws {Error} When no launcher has started this process.
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
 * Runs the Deno that runs this script with `args`. The process shares the
 * standard streams, and SIGINT, SIGTERM and SIGHUP are passed on to it.
 *
 * @returns The exit code; 128 plus the signal's number when a signal ended it.
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
  // A terminal sends SIGINT for Ctrl+C and SIGHUP at its end to the whole
  // process group, so the child has already received the signal; a second one
  // would mean "stop at once" to it.
  if (signal !== "SIGTERM" && Deno.stdin.isTerminal()) return;
  try {
    child.kill(signal);
  } catch (error) {
    // The child has ended between the signal and this call.
    if (!(error instanceof TypeError)) throw error;
  }
}

/**
 * The variables that tell Deno where programs and packages are and which
 * certificates to trust.
 */
const RUNTIME_VARIABLE =
  /^(PATH|HOME|TMPDIR|XDG_CACHE_HOME|DENO_\w+|JSR_URL|NPM_CONFIG_\w+|SSL_CERT_(FILE|DIR)|(HTTPS?|NO)_PROXY)$/i;

/**
 * Returns the runtime variables of an environment. A process that gets only
 * these sees no setting of a service that happens to be set.
 */
export function runtimeVariables(
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment)
      .filter(([name]) => RUNTIME_VARIABLE.test(name)),
  );
}
