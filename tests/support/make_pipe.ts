/**
 * Creates named pipes, which the runtime cannot do itself.
 *
 * @module
 */

/**
 * Creates a named pipe. Opening a pipe blocks until a process opens its other
 * end.
 */
export function makePipe(path: string): void {
  const { success, stderr } = new Deno.Command("mkfifo", { args: [path] })
    .outputSync();
  if (!success) {
    const why = new TextDecoder().decode(stderr).trim();
    throw new Error(`Cannot make pipe "${path}": ${why}`);
  }
}
