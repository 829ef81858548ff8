import { assert, assertEquals } from "@std/assert";
import { withOwnStd } from "../../../tests/support/with_own_std.ts";
import type { ByteStream, HttpHandler } from "../http/exchange.ts";
import { withTestServer } from "./testing/test_server.ts";

/** A stream that a test feeds. */
class FedStream implements ByteStream {
  readonly canceled = Promise.withResolvers<void>();
  readonly #waiting: (Uint8Array | undefined | Error)[] = [];
  #wake: (() => void) | undefined;

  put(...texts: readonly (string | undefined | Error)[]): void {
    const encoder = new TextEncoder();
    for (const text of texts) {
      this.#waiting.push(
        typeof text === "string" ? encoder.encode(text) : text,
      );
    }
    this.#wake?.();
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.#waiting.length === 0) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const bytes = this.#waiting.shift();
    if (bytes instanceof Error) throw bytes;
    return bytes;
  }

  cancel(): void {
    this.canceled.resolve();
    this.#waiting.length = 0;
    this.put(undefined);
  }
}

function streaming(stream: ByteStream, headers = {}): HttpHandler {
  return () => ({ status: 200, headers, stream });
}

const ASK = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

Deno.test("Http1Server sends a stream piece by piece, as it comes", async () => {
  const stream = new FedStream();
  await withTestServer({ handler: streaming(stream) }, async ({ connect }) => {
    const client = await connect();
    await client.send(ASK);
    await client.waitFor("transfer-encoding: chunked");
    stream.put("one");
    await client.waitFor("3\r\none\r\n");
    stream.put("", "x".repeat(100_000));
    await client.waitFor(`\r\n${"x".repeat(1_000)}`);
    stream.put(undefined);
    const rest = await client.rest();
    assert(rest.endsWith("\r\n0\r\n\r\n"), rest.slice(-20));
    await stream.canceled.promise;
  });
});

Deno.test("Http1Server sends a stream to HTTP/1.0 until the connection ends", async () => {
  const stream = new FedStream();
  stream.put("one", "two", undefined);
  await withTestServer({ handler: streaming(stream) }, async ({ connect }) => {
    const client = await connect();
    await client.send("GET / HTTP/1.0\r\n\r\n");
    const all = await client.rest();
    assert(all.endsWith("\r\n\r\nonetwo"), all);
    assert(!all.includes("chunked"));
  });
});

Deno.test("Http1Server cancels a stream when the client goes away", async () => {
  const stream = new FedStream();
  await withTestServer({ handler: streaming(stream) }, async ({ connect }) => {
    const client = await connect();
    await client.send(ASK);
    await client.waitFor("\r\n\r\n");
    client.close();
    await stream.canceled.promise;
  });
});

Deno.test("Http1Server sends no stream where it cannot, and cancels it", async () => {
  for (
    const [ask, headers] of [
      ["HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", {}],
      [ASK, { "content-length": "3" }],
    ] as const
  ) {
    const stream = new FedStream();
    stream.put("one");
    const handler = streaming(stream, headers);
    await withTestServer({ handler }, async ({ connect }) => {
      const client = await connect();
      await client.send(ask);
      assert(!(await client.rest()).includes("one"));
      await stream.canceled.promise;
    });
  }
});

Deno.test("Http1Server ends a connection in the middle when its stream breaks", async () => {
  const stream = new FedStream();
  stream.put("one", new Error("the disk is gone"));
  await withTestServer({ handler: streaming(stream) }, async ({ connect }) => {
    const client = await connect();
    await client.send(ASK);
    const all = await client.rest();
    assert(!all.includes("\r\n0\r\n\r\n"), all);
    await stream.canceled.promise;
  });
});

Deno.test("Http1Server.stop() ends a stream that outlives the grace period", async () => {
  const stream = new FedStream();
  const handler = streaming(stream);
  await withTestServer({ handler }, async ({ server, connect }) => {
    const client = await connect();
    await client.send(ASK);
    await client.waitFor("\r\n\r\n");
    await server.stop(0);
    await stream.canceled.promise;
    assertEquals(server.connections, 0);
  });
});

Deno.test("Http1Server keeps nothing of a request while it sends the stream", async () => {
  const flags = ["--allow-net=127.0.0.1", "--v8-flags=--expose-gc"];
  const program = new URL("./testing/streaming_process.ts", import.meta.url);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [...withOwnStd(["run", ...flags]), program.href],
    stderr: "inherit",
  }).output();
  assertEquals(new TextDecoder().decode(stdout), "gone\n");
});

Deno.test("Http1Server calls no listener of a request whose stream it cancels", async () => {
  const stream = new FedStream();
  let isCalled = false;
  const handler: HttpHandler = (request) => {
    request.onGone(() => isCalled = true);
    return { status: 200, headers: {}, stream };
  };
  await withTestServer({ handler }, async ({ connect }) => {
    const client = await connect();
    await client.send(ASK);
    await client.waitFor("\r\n\r\n");
    client.close();
    await stream.canceled.promise;
    assert(!isCalled);
  });
});

Deno.test("Http1Server.stop() ends a connection whose stream cannot be canceled", async () => {
  const stream = new FedStream();
  stream.cancel = () => {
    throw new Error("the stream is stuck");
  };
  const handler = streaming(stream);
  await withTestServer({ handler }, async ({ server, logger, connect }) => {
    const client = await connect();
    await client.send(ASK);
    await client.waitFor("\r\n\r\n");
    const stopped = server.stop(0);
    await client.rest();
    stream.put(undefined);
    await stopped;
    assertEquals(server.connections, 0);
    assert(logger.lines.length > 0);
  });
});
