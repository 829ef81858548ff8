import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { BodyBudget, type BodyOutcome, readBody } from "./body.ts";

const MEBIBYTE = 1024 * 1024;

function post(body: BodyInit, headers: Record<string, string> = {}): Request {
  return new Request("http://localhost/", { method: "POST", body, headers });
}

function streamOf(...chunks: readonly string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
      controller.close();
    },
  });
}

function textOf(outcome: BodyOutcome): string {
  assert(outcome.kind === "ok", outcome.kind);
  return new TextDecoder().decode(outcome.bytes);
}

/** Serves one handler on a free port for the time of `use`. */
async function withServer(
  handler: (request: Request) => Promise<Response>,
  use: (port: number) => Promise<void>,
): Promise<void> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    handler,
  );
  try {
    await use(server.addr.port);
  } finally {
    await server.shutdown();
  }
}

async function answerWithKind(request: Request): Promise<Response> {
  const outcome = await readBody(request, { maxBytes: MEBIBYTE });
  return new Response(outcome.kind, {
    status: outcome.kind === "too_large" ? 413 : 200,
  });
}

Deno.test("readBody() returns the whole body up to the bound", async () => {
  assertEquals(textOf(await readBody(post("12345"), { maxBytes: 5 })), "12345");
  const pieces = post(streamOf("12", "", "345"));
  assertEquals(textOf(await readBody(pieces, { maxBytes: 5 })), "12345");
});

Deno.test("readBody() returns no bytes when there is no body", async () => {
  const request = new Request("http://localhost/", { method: "POST" });
  assertEquals(textOf(await readBody(request, { maxBytes: 0 })), "");
});

Deno.test("readBody() refuses one byte more than the bound", async () => {
  const request = post(streamOf("123", "456"));
  assertEquals(await readBody(request, { maxBytes: 5 }), { kind: "too_large" });
});

Deno.test("readBody() refuses a declared length before it reads", async () => {
  const request = post("tiny", { "content-length": "6" });
  assertEquals(await readBody(request, { maxBytes: 5 }), { kind: "too_large" });
  assertEquals(request.bodyUsed, false);
});

Deno.test("readBody() counts the bytes when the declared length is wrong", async () => {
  for (const length of ["1", "-1", "none", "0x1"]) {
    const request = post("123456", { "content-length": length });
    assertEquals(
      await readBody(request, { maxBytes: 5 }),
      { kind: "too_large" },
      length,
    );
  }
});

Deno.test("readBody() stops reading an endless body at the bound", async () => {
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += 1;
      controller.enqueue(new Uint8Array(10));
    },
  });
  const outcome = await readBody(post(endless), { maxBytes: 100 });
  assertEquals(outcome, { kind: "too_large" });
  assert(pulled < 20, `pulled ${pulled} times`);
});

Deno.test("readBody() gives up when the body does not come in time", async () => {
  const clock = new FakeClock();
  const started = Promise.withResolvers<void>();
  let cancelled = false;
  const stalled = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(1)),
    pull: () => started.resolve(),
    cancel: () => {
      cancelled = true;
    },
  });
  const reading = readBody(post(stalled), { maxBytes: 10, clock });
  await started.promise;
  await clock.advanceAsync(29_999);
  assertEquals(cancelled, false);
  clock.advance(1);
  assertEquals(await reading, { kind: "aborted", reason: "timed_out" });
  assert(cancelled);
});

Deno.test("readBody() gives up on a declared body that does not come in time", async () => {
  const clock = new FakeClock();
  const request = post(new ReadableStream(), { "content-length": "5" });
  const reading = readBody(request, { maxBytes: 10, timeoutMs: 70, clock });
  await clock.advanceAsync(70);
  assertEquals(await reading, { kind: "aborted", reason: "timed_out" });
});

Deno.test("readBody() sets no timer that outlives it", async () => {
  const clock = new FakeClock();
  const headers = { "content-length": "1" };
  for (const request of [post("1"), post("1", headers)]) {
    assertEquals((await readBody(request, { maxBytes: 1, clock })).kind, "ok");
  }
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("readBody() tells when the client goes away", async () => {
  for (const headers of [{}, { "content-length": "5" }]) {
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new TypeError("reset")),
    });
    assertEquals(
      await readBody(post(broken, headers), { maxBytes: 10 }),
      { kind: "aborted", reason: "disconnected" },
    );
  }
});

Deno.test("readBody() rejects when the body was read before", async () => {
  for (const headers of [{}, { "content-length": "4" }]) {
    const request = post("text", headers);
    await request.text();
    await assertRejects(() => readBody(request, { maxBytes: 10 }), TypeError);
  }
});

Deno.test("readBody() lets fetch see 413 for 5 MB, with and without a length", async () => {
  await withServer(answerWithKind, async (port) => {
    const url = `http://127.0.0.1:${port}/`;
    const declared = await fetch(url, {
      method: "POST",
      body: new Uint8Array(5_000_000),
    });
    assertEquals([declared.status, await declared.text()], [413, "too_large"]);
    const blocks = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let block = 0; block < 50; block++) {
          controller.enqueue(new Uint8Array(100_000));
        }
        controller.close();
      },
    });
    const chunked = await fetch(url, { method: "POST", body: blocks });
    assertEquals([chunked.status, await chunked.text()], [413, "too_large"]);
  });
});

Deno.test("readBody() lets a client that first sends all 5 MB see 413", async () => {
  await withServer(answerWithKind, async (port) => {
    for (const chunked of [false, true]) {
      const status = await postRaw(port, { bytes: 5_000_000, chunked });
      assertEquals(status.split(" ")[1], "413", `chunked ${chunked}`);
    }
  });
});

interface RawPost {
  readonly bytes: number;
  readonly chunked: boolean;
}

/** Writes a whole request before it reads the status line. */
async function postRaw(port: number, options: RawPost): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const encoder = new TextEncoder();
  const send = async (bytes: Uint8Array): Promise<void> => {
    let sent = 0;
    while (sent < bytes.length) {
      sent += await connection.write(bytes.subarray(sent));
    }
  };
  const block = "x".repeat(50_000);
  try {
    const framing = options.chunked
      ? "transfer-encoding: chunked"
      : `content-length: ${options.bytes}`;
    await send(
      encoder.encode(`POST / HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n`),
    );
    const piece = encoder.encode(
      options.chunked ? `${block.length.toString(16)}\r\n${block}\r\n` : block,
    );
    for (let sent = 0; sent < options.bytes; sent += block.length) {
      await send(piece);
    }
    if (options.chunked) await send(encoder.encode("0\r\n\r\n"));
    const answer = new Uint8Array(1024);
    const length = await connection.read(answer) ?? 0;
    return new TextDecoder().decode(answer.subarray(0, length))
      .split("\r\n")[0] ?? "";
  } finally {
    connection.close();
  }
}

Deno.test("readBody() takes from the budget while it reads, and gives all of it back", async () => {
  const budget = new BodyBudget(100_000);
  const large = (): Request =>
    new Request("http://service.test/", {
      method: "POST",
      body: new Uint8Array(80_000),
      headers: { "content-length": "80000" },
    });
  const read = await readBody(large(), { maxBytes: 200_000, budget });
  assertEquals(read.kind, "ok");
  assertEquals(budget.takenBytes, 0);
  budget.take(50_000);
  const busy = await readBody(large(), { maxBytes: 200_000, budget });
  assertEquals(busy.kind, "busy");
  assertEquals(budget.takenBytes, 50_000);
});
