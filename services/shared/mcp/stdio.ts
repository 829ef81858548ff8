/**
 * The Model Context Protocol over standard input and output: each message is
 * one line of JSON.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { McpConversation } from "./conversation.ts";
import {
  failure,
  readMessages,
  RPC_ERRORS,
  type RpcAnswer,
  type SentNotification,
} from "./messages.ts";
import type { McpServer } from "./server.ts";

/** Options of {@linkcode serveLines}. */
export interface ServeLinesOptions<Context> {
  /** Answers the requests. */
  readonly server: McpServer<Context>;
  /** Makes what tools work with; it is called with each request. */
  readonly context: () => Context;
  /** What the client sends, in pieces of any size. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Takes a line for the client, its end included. Lines come in order. */
  readonly write: (line: string) => Promise<void>;
  /** Sets the timer of `graceMs`. */
  readonly clock: Clock;
  /**
   * How long requests under way may take after the input has ended, in
   * milliseconds.
   *
   * @default {2000}
   */
  readonly graceMs?: number;
  /**
   * Most bytes of a line; a longer one is refused and passed over.
   *
   * @default {4194304}
   */
  readonly maxLineBytes?: number;
}

const NEWLINE = 0x0a;

/**
 * Serves one client until its input ends. Requests under way then have a moment
 * to end; after it they are cancelled.
 *
 * @throws {unknown} What `input` or `write` throws.
 */
export async function serveLines<Context>(
  options: ServeLinesOptions<Context>,
): Promise<void> {
  const { server, context, input, clock } = options;
  const { graceMs = 2_000, maxLineBytes = 4_194_304 } = options;
  const conversation = new McpConversation(server);
  const answering = new Set<Promise<void>>();
  let writing: Promise<void> = Promise.resolve();
  let broken: { readonly error: unknown } | undefined;
  const send = (message: RpcAnswer | SentNotification | RpcAnswer[]): void => {
    const line = `${JSON.stringify(message)}\n`;
    writing = writing.then(() => options.write(line)).catch((error) => {
      broken ??= { error };
    });
  };
  const take = async (line: string): Promise<void> => {
    if (line.trim() === "") return;
    const read = readMessages(line);
    if (read.kind === "invalid") return send(read.failure);
    const answers: RpcAnswer[] = [];
    await Promise.all(read.messages.map(async (message) => {
      const answer = await conversation.take(message, {
        context,
        notify: send,
      });
      if (answer !== undefined) answers.push(answer);
    }));
    if (read.isBatch && answers.length > 0) return send(answers);
    for (const answer of answers) send(answer);
  };
  try {
    for await (const line of readLines(input, maxLineBytes)) {
      if (broken !== undefined) throw broken.error;
      if (line === undefined) {
        const message =
          `Cannot read message: it has over ${maxLineBytes} bytes`;
        send(failure(null, { code: RPC_ERRORS.invalid, message }));
        continue;
      }
      const work = take(line);
      answering.add(work);
      void work.finally(() => answering.delete(work));
      // A client that does not read its answers is not read either.
      await writing;
    }
  } finally {
    const timer = clock.setTimer(() => conversation.cancelAll(), graceMs);
    await Promise.all(answering);
    timer.cancel();
    await writing;
  }
  if (broken !== undefined) throw broken.error;
}

/** Yields the lines of a text in UTF-8; undefined for one that is too long. */
async function* readLines(
  input: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string | undefined> {
  let pieces: Uint8Array[] = [];
  let held = 0;
  let isTooLong = false;
  const takeLine = (): string | undefined => {
    const decoder = new TextDecoder();
    const text = pieces.map((piece) => decoder.decode(piece, { stream: true }))
      .join("") + decoder.decode();
    const line = isTooLong ? undefined : text;
    pieces = [];
    held = 0;
    isTooLong = false;
    return line;
  };
  for await (const chunk of input) {
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(NEWLINE, from);
      const to = end < 0 ? chunk.length : end;
      held += to - from;
      if (held > maxBytes) {
        isTooLong = true;
        pieces = [];
      } else pieces.push(chunk.subarray(from, to));
      if (end >= 0) yield takeLine();
      from = to + 1;
    }
  }
  if (held > 0) yield takeLine();
}
