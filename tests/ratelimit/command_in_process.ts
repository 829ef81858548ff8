/**
 * Runs commands of the rate limit service within the test's process, which
 * costs far less than a start. What a command may do with its production
 * permissions only a process shows, so each has a test with one.
 *
 * @module
 */

import { run } from "../../services/ratelimit/main.ts";
import type { ServiceRun } from "../support/service_process.ts";

/** Runs a command, such as `check`; returns what its process would give. */
export async function runInProcess(
  args: readonly string[],
): Promise<ServiceRun> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await run(args, {
    out: (text) => out.push(lineOf(text)),
    err: (text) => err.push(lineOf(text)),
  });
  return { code, stdout: out.join(""), stderr: err.join("") };
}

/** Ends a text with a line feed, as the program's own output does. */
function lineOf(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
