import { assert, assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { GrpcStream } from "./channel.ts";
import { H2GrpcChannel } from "./h2_channel.ts";
import { H2GrpcServer } from "./h2_server.ts";
import {
  type BidiStreamMethod,
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
} from "./method.ts";

const PATH = "/test.Test/Chat";

interface BidiTest {
  readonly stream: () => GrpcStream;
  readonly server: H2GrpcServer;
  readonly log: RecordingLogger;
}

/** A server with one method, and a client of it. */
async function withMethod(
  handle: BidiStreamMethod,
  use: (test: BidiTest) => Promise<void>,
): Promise<void> {
  const log = new RecordingLogger();
  const server = new H2GrpcServer({
    methods: { [PATH]: { kind: "bidi_stream", handle } },
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    maxReceiveBytes: 1_000_000,
    logger: log,
  });
  const address = await server.start();
  assert(address.kind === "tcp");
  const channel = new H2GrpcChannel({ target: address });
  try {
    await use({ stream: () => channel.stream(PATH), server, log });
  } finally {
    channel.close();
    await server.stop(5_000);
  }
}

async function* echo(
  requests: AsyncIterable<Uint8Array>,
): AsyncGenerator<GrpcAnswer> {
  for await (const request of requests) yield request;
}

/** Reads a stream to its end: lengths of messages, and the failure. */
async function rest(stream: GrpcStream): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  for await (const answer of stream.messages) {
    seen.push(answer instanceof Uint8Array ? answer.length : answer.code);
  }
  return seen;
}

Deno.test("H2GrpcServer answers each request of a stream as it comes", async () => {
  await withMethod(echo, async ({ stream }) => {
    const open = stream();
    const answers = open.messages[Symbol.asyncIterator]();
    for (const length of [1, 0, 70_000, 999_999, 3]) {
      await open.send(new Uint8Array(length).fill(7));
      const { value } = await answers.next();
      assert(value instanceof Uint8Array);
      assertEquals([value.length, value.at(-1)], [
        length,
        length ? 7 : undefined,
      ]);
    }
    open.closeSend();
    assertEquals((await answers.next()).done, true);
  });
});

Deno.test("H2GrpcServer ends a stream of requests that breaks the rules", async () => {
  await withMethod(echo, async ({ stream }) => {
    const open = stream();
    void open.send(new Uint8Array(1_000_001));
    assertEquals(await rest(open), [GRPC_STATUS.RESOURCE_EXHAUSTED]);
  });
});

Deno.test("H2GrpcServer ends a stream of requests with the failure of its method", async () => {
  const method: BidiStreamMethod = async function* (requests) {
    for await (const request of requests) {
      if (request.length > 1) {
        yield new GrpcFailure(GRPC_STATUS.INVALID_ARGUMENT, "too long");
        return;
      }
      yield request;
    }
  };
  await withMethod(method, async ({ stream }) => {
    const open = stream();
    for (const length of [1, 1, 2, 1]) void open.send(new Uint8Array(length));
    assertEquals(await rest(open), [1, 1, GRPC_STATUS.INVALID_ARGUMENT]);
  });
});

Deno.test("H2GrpcServer holds a caller back whose requests are not taken", async () => {
  const begin = Promise.withResolvers<void>();
  const method: BidiStreamMethod = async function* (requests) {
    await begin.promise;
    let count = 0;
    for await (const { length } of requests) count += length;
    yield Uint8Array.of(count / 100_000);
  };
  await withMethod(method, async ({ stream }) => {
    const open = stream();
    let taken = 0;
    const sending = (async () => {
      for (let count = 0; count < 50; count++) {
        await open.send(new Uint8Array(100_000));
        taken++;
      }
      open.closeSend();
    })();
    // The window holds 262,144 bytes, and the client keeps one message more.
    await waitUntil(() => taken >= 2, { what: "a full window" });
    for (let turn = 0; turn < 200; turn++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    assert(taken <= 4, `${taken} messages were taken`);
    begin.resolve();
    await sending;
    const answers = open.messages[Symbol.asyncIterator]();
    assertEquals((await answers.next()).value, Uint8Array.of(50));
    assertEquals((await answers.next()).done, true);
  });
});

Deno.test("H2GrpcServer ends the requests of a method whose caller is gone", async () => {
  const ended = Promise.withResolvers<boolean>();
  const method: BidiStreamMethod = async function* (requests, { signal }) {
    for await (const request of requests) yield request;
    ended.resolve(signal.aborted);
  };
  await withMethod(method, async ({ stream, log }) => {
    const open = stream();
    await open.send(new Uint8Array(1));
    const answers = open.messages[Symbol.asyncIterator]();
    await answers.next();
    open.cancel();
    assertEquals(await ended.promise, true);
    assertEquals(log.listMessages("error"), []);
  });
});

Deno.test("H2GrpcServer.stop() does not wait for a stream whose caller is silent", async () => {
  await withMethod(echo, async ({ stream, server }) => {
    const open = stream();
    await open.send(new Uint8Array(1));
    const answers = open.messages[Symbol.asyncIterator]();
    await answers.next();
    const stopped = server.stop(60_000);
    const { value } = await answers.next();
    assert(value instanceof GrpcFailure);
    assertEquals(value.code, GRPC_STATUS.UNAVAILABLE);
    await stopped;
  });
});
