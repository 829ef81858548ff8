/**
 * Writes messages and results of the scripts to the terminal.
 *
 * @module
 */

const encoder = new TextEncoder();

/** Writes a line to stderr: notices and errors. */
export function tell(line: string): void {
  writeAll(Deno.stderr, `${line}\n`);
}

/** Writes a line to stdout: results. */
export function print(line: string): void {
  writeAll(Deno.stdout, `${line}\n`);
}

/** Returns the message of an error, without its stack. */
export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Runs a script and ends this process with the exit code that it returns, or
 * with 2 and the message of the error that it throws.
 *
 * @param main Gets the arguments of the process.
 */
export async function exitWith(
  main: (args: readonly string[]) => Promise<number>,
): Promise<never> {
  try {
    return Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(toMessage(error));
    return Deno.exit(2);
  }
}

function writeAll(
  stream: { writeSync(bytes: Uint8Array): number },
  text: string,
): void {
  let rest = encoder.encode(text);
  while (rest.byteLength > 0) rest = rest.subarray(stream.writeSync(rest));
}
