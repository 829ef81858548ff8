/**
 * Runs a blob store in a process of its own.
 *
 * @module
 */

import { withOwnStd } from "../support/with_own_std.ts";

/** A running blob store, which ends when it is disposed of. */
export class BlobStoreProcess implements AsyncDisposable {
  /** The URL of the blob store. */
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

  /** Starts the process and waits until it prints its URL. */
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

  /** Ends the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#output.cancel();
  }
}
