/**
 * The outputs of this process.
 *
 * @module
 */

import type { CommandIo } from "./command_io.ts";

/** Writes to standard output and standard error, at once and whole. */
export function processIo(): CommandIo {
  const encoder = new TextEncoder();
  const line = (text: string): Uint8Array =>
    encoder.encode(text.endsWith("\n") ? text : `${text}\n`);
  const write = (
    sink: { writeSync(bytes: Uint8Array): number },
    text: string,
  ): void => {
    let rest = line(text);
    while (rest.length > 0) rest = rest.subarray(sink.writeSync(rest));
  };
  return {
    out: (text) => write(Deno.stdout, text),
    err: (text) => write(Deno.stderr, text),
  };
}
