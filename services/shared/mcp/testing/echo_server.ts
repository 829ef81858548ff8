/**
 * A server whose tools say what they are told, for tests of the transports.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { object, optional } from "../../schema/object.ts";
import { text } from "../../schema/values.ts";
import { defineTool } from "../catalog.ts";
import { type EndedToolCall, McpServer } from "../server.ts";

/** A server, and what its tools wait for. */
export interface EchoServer {
  /** The server; its context is the name of the caller. */
  readonly server: McpServer<string>;
  /** The time. */
  readonly clock: FakeClock;
  /** Lets all calls of `wait` go on. */
  readonly release: () => void;
  /** Settles when a call of `wait` has begun. */
  readonly begun: () => Promise<void>;
  /** Whether the signal of the last call of `wait` has aborted. */
  readonly isAborted: () => boolean;
  /** The calls that have ended. */
  readonly calls: readonly EndedToolCall[];
  /** Exceptions that clients were not told. */
  readonly errors: readonly unknown[];
}

/**
 * Makes a server with the tools `echo`, `wait` (which goes on when it is
 * released or cancelled), `step` (which tells its progress) and `break`.
 */
export function openEchoServer(): EchoServer {
  const clock = new FakeClock();
  const calls: EndedToolCall[] = [];
  const errors: unknown[] = [];
  let gate = Promise.withResolvers<void>();
  let begun = Promise.withResolvers<void>();
  let signal: AbortSignal | undefined;
  const facts = (name: string) => ({
    ...{ name, title: name, description: name },
    annotations: { readOnlyHint: true },
  });
  const server = new McpServer<string>({
    clock,
    onCall: (call) => calls.push(call),
    onError: (error) => errors.push(error),
    catalog: {
      info: { name: "echo", title: "Echo", version: "1" },
      instructions: "Say something",
      tools: [
        defineTool({
          ...facts("echo"),
          input: object({ text: text({ maxLength: 100 }) }),
          run: (input, { context }) =>
            Promise.resolve({
              content: [{ type: "text", text: `${context}: ${input.text}` }],
            }),
        }),
        defineTool({
          ...facts("wait"),
          input: object({}),
          async run(_, call) {
            signal = call.signal;
            const aborted = Promise.withResolvers<void>();
            call.signal.addEventListener("abort", () => aborted.resolve());
            begun.resolve();
            begun = Promise.withResolvers();
            await Promise.race([gate.promise, aborted.promise]);
            call.signal.throwIfAborted();
            return { content: [{ type: "text", text: "waited" }] };
          },
        }),
        defineTool({
          ...facts("step"),
          input: object({ message: optional(text()) }),
          run(_, { progress }) {
            progress(1, { total: 2, message: "half" });
            return Promise.resolve({ content: [] });
          },
        }),
        defineTool({
          ...facts("break"),
          input: object({}),
          run: () => Promise.reject(new Error("secret: 4711")),
        }),
      ],
    },
  });
  return {
    ...{ server, clock, calls, errors },
    release() {
      gate.resolve();
      gate = Promise.withResolvers();
    },
    begun: () => begun.promise,
    isAborted: () => signal?.aborted ?? false,
  };
}
