/**
 * Named pipes, which the runtime cannot make by itself.
 *
 * @module
 */

/** Makes a named pipe: opening it waits until somebody opens its other end. */
export function makePipe(path: string): void {
  const { success, stderr } = new Deno.Command("mkfifo", { args: [path] })
    .outputSync();
  if (!success) {
    const why = new TextDecoder().decode(stderr).trim();
    throw new Error(`Cannot make pipe "${path}": ${why}`);
  }
}
