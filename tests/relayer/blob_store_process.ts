/**
 * A blob store in a process of its own.
 *
 * @module
 */

import { withOwnStd } from "../support/with_own_std.ts";

/** A blob store that runs; it is gone after the test. */
export class BlobStoreProcess implements AsyncDisposable {
  /** Where it answers. */
  readonly url: string;
  readonly #child: Deno.ChildProcess;
  readonly #output: ReadableStreamDefaultReader<string>;

  private constructor(
    child: Deno.ChildProcess,
    { url, output }: {
      readonly url: string;
      readonly output: ReadableStreamDefaultReader<string>;
    },
  ) {
    this.#child = child;
    this.#output = output;
    this.url = url;
  }

  /** Starts it and waits until it answers. */
  static async start(): Promise<BlobStoreProcess> {
    const program = new URL("./blob_store_program.ts", import.meta.url);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...withOwnStd(["run", "--allow-net"]),
        decodeURIComponent(program.pathname),
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const output = child.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
    const { value = "" } = await output.read();
    return new BlobStoreProcess(child, { url: value.trim(), output });
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#output.cancel();
  }
}
