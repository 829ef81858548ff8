/**
 * A gRPC channel for tests, in which the test acts as the server.
 *
 * @module
 */

import type {
  GrpcCallOptions,
  GrpcChannel,
  GrpcStream,
} from "../../services/shared/grpc/channel.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
} from "../../services/shared/grpc/method.ts";

/** A channel for streams; its unary calls always fail. */
export class FakeGrpcChannel implements GrpcChannel {
  /** All streams opened so far, the latest last. */
  readonly streams: FakeGrpcStream[] = [];
  /** Whether `close` was called. */
  isClosed = false;
  /**
   * Whether streams stall: a message that the client sends is never accepted.
   */
  readonly #stalls: boolean;

  /** Creates a channel without streams. */
  constructor({ stalls = false }: { readonly stalls?: boolean } = {}) {
    this.#stalls = stalls;
  }

  /** Always returns a failure. */
  unary(): Promise<GrpcAnswer> {
    return Promise.resolve(new GrpcFailure(GRPC_STATUS.UNIMPLEMENTED, "fake"));
  }

  /** Opens a stream, on which the test acts as the server. */
  stream(path: string, options: GrpcCallOptions = {}): FakeGrpcStream {
    const stream = new FakeGrpcStream(path, options, this.#stalls);
    this.streams.push(stream);
    return stream;
  }

  /** Cancels all streams. */
  close(): void {
    this.isClosed = true;
    for (const stream of this.streams) stream.cancel();
  }
}

/** A stream that a test controls from both sides. */
export class FakeGrpcStream implements GrpcStream {
  /** The path of the method. */
  readonly path: string;
  /** The header fields of the stream. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The messages that the client has sent. */
  readonly sent: Uint8Array[] = [];
  /** Whether the stream was ended, by either side. */
  isEnded = false;
  readonly #stalls: boolean;
  readonly #answers: (GrpcAnswer | "end")[] = [];
  #wake = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();

  /** Creates a stream on which nothing has been sent. */
  constructor(path: string, options: GrpcCallOptions, stalls: boolean) {
    this.path = path;
    this.metadata = options.metadata ?? {};
    this.#stalls = stalls;
    if (options.signal?.aborted) this.cancel();
    options.signal?.addEventListener("abort", () => this.cancel());
  }

  /** Server: the number of messages that the client has not read. */
  get unread(): number {
    return this.#answers.length;
  }

  /** Server: sends a message. */
  push(answer: Uint8Array): void {
    this.#add(answer);
  }

  /** Server: ends the stream, with `OK` unless a failure is given. */
  end(failure?: GrpcFailure): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.#ended.resolve();
    this.#add(failure ?? "end");
  }

  /** Client: sends a message; after the end of the stream it is dropped. */
  async send(message: Uint8Array): Promise<void> {
    if (this.isEnded) return;
    if (this.#stalls) return await this.#ended.promise;
    this.sent.push(message);
  }

  /** Client: half-closes the stream; has no effect here. */
  closeSend(): void {}

  /** Client: the messages that the server sent. */
  get messages(): AsyncIterable<GrpcAnswer> {
    return this.#iterate();
  }

  /** Client: cancels the stream. */
  cancel(): void {
    this.end(new GrpcFailure(GRPC_STATUS.CANCELLED, "cancelled"));
  }

  #add(answer: GrpcAnswer | "end"): void {
    this.#answers.push(answer);
    this.#wake.resolve();
  }

  async *#iterate(): AsyncGenerator<GrpcAnswer> {
    while (true) {
      const answer = this.#answers.shift();
      if (answer === undefined) {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
        continue;
      }
      if (answer === "end") return;
      yield answer;
      if (answer instanceof GrpcFailure) return;
    }
  }
}
