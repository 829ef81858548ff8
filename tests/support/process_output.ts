/**
 * Collects the output of a process for a test.
 *
 * @module
 */

/**
 * Reads a stream to its end, so that the process never blocks on a full pipe.
 */
export class ProcessOutput {
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  #text = "";

  /** Starts to read. */
  constructor(stream: ReadableStream<Uint8Array>) {
    this.ended = this.#read(stream);
  }

  /** All output so far. */
  get text(): string {
    return this.#text;
  }

  /** The complete lines of the output so far. */
  get lines(): readonly string[] {
    return this.#text.split("\n").slice(0, -1);
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      this.#text += decoder.decode(chunk, { stream: true });
    }
  }
}
