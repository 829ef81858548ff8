/**
 * What a process writes, kept for a test to look at.
 *
 * @module
 */

/** Reads a stream to its end, so that the process never waits for a reader. */
export class ProcessOutput {
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  #text = "";

  /** Begins to read. */
  constructor(stream: ReadableStream<Uint8Array>) {
    this.ended = this.#read(stream);
  }

  /** Everything so far. */
  get text(): string {
    return this.#text;
  }

  /** The finished lines so far. */
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
