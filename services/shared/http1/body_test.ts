import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { BodyOutcome } from "../http/exchange.ts";
import type { HttpHandler } from "../http/exchange.ts";
import { BodyBuffer } from "./body.ts";
import { withTestServer } from "./testing/test_server.ts";

const MEBIBYTE = 1_048_576;

/** Takes bodies up to `maxBytes` and keeps what came of them. */
function createTaker(
  outcomes: BodyOutcome[],
  maxBytes: number,
): HttpHandler {
  return async (request) => {
    const body = await request.body(maxBytes);
    outcomes.push(body);
    return {
      status: body.kind === "ok" ? 200 : body.kind === "busy" ? 503 : 413,
      headers: {},
      body: body.kind === "ok" ? String(body.bytes.byteLength) : body.kind,
    };
  };
}

Deno.test("Http1Server lets a client see 413 though it sends everything first", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = createTaker(outcomes, MEBIBYTE);
  await withTestServer({ handler }, async ({ connect }) => {
    const client = await connect();
    const length = 10 * MEBIBYTE;
    await client.send(
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`,
    );
    await client.send("x".repeat(length));
    const { status, headers } = await client.answer();
    assertEquals([status, headers["connection"]], [413, "close"]);
    assertEquals(await client.rest(), "");
    assertEquals(outcomes, [{ kind: "too_large" }]);
  });
});

Deno.test("Http1Server counts a body without a declared length", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = createTaker(outcomes, 10 * MEBIBYTE);
  const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
  const head =
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  await withTestServer({ handler }, async ({ connect }) => {
    const client = await connect();
    await client.send(`${head}${chunk.repeat(160)}0\r\n\r\n`);
    const { status, body } = await client.answer();
    assertEquals([status, body], [200, String(10 * MEBIBYTE)]);
    const [outcome] = outcomes;
    assert(outcome?.kind === "ok");
    assert(outcome.bytes.every((byte) => byte === 0x78));
    // The same connection again, with one byte more.
    await client.send(`${head}${chunk.repeat(160)}1\r\nx\r\n0\r\n\r\n`);
    assertEquals((await client.answer()).status, 413);
  });
});

Deno.test("Http1Server bounds what all bodies hold, and lets small ones pass", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = createTaker(outcomes, MEBIBYTE);
  await withTestServer({
    handler,
    maxBodyBytesInFlight: 200_000,
  }, async ({ connect }) => {
    const slow = await connect();
    await slow.send(
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n",
    );
    await slow.send("x".repeat(150_000));
    const large =
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 150000\r\n\r\n${
        "x".repeat(150_000)
      }`;
    // Poll: it does not show from outside when the slow one has its memory.
    await waitUntil(async () => {
      const other = await connect();
      await other.trySend(large);
      return (await other.answer()).status === 503;
    }, { what: "a full budget" });
    const small = await connect();
    await small.send(
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n",
    );
    await small.send("x".repeat(9000));
    assertEquals((await small.answer()).body, "9000");
    await slow.send("x".repeat(50_000));
    assertEquals((await slow.answer()).body, "200000");
    await small.send(large);
    assertEquals((await small.answer()).body, "150000");
  });
});

/** What must not be taken for a request: it is a body. */
const EVIL = "GET /evil HTTP/1.1\r\nhost: x\r\n\r\n";

Deno.test("Http1Server keeps a connection whose small body nobody wanted", async () => {
  const handler: HttpHandler = ({ target }) => ({
    status: 401,
    headers: {},
    body: target,
  });
  await withTestServer({ handler }, async ({ connect }) => {
    const client = await connect();
    await client.send(
      `POST /1 HTTP/1.1\r\nhost: x\r\ncontent-length: ${EVIL.length}\r\n\r\n`,
    );
    assertEquals((await client.answer()).body, "/1");
    await client.send(EVIL);
    await client.send("GET /2 HTTP/1.1\r\nhost: x\r\n\r\n");
    assertEquals((await client.answer()).body, "/2");
    // A body that is too large, or of unknown length, ends the connection.
    await client.send(
      "POST /3 HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\n",
    );
    assertEquals((await client.answer()).headers["connection"], "close");
    await client.send(EVIL);
    await client.sendEnd();
    assertEquals(await client.rest(), "");
  });
});

Deno.test("Http1Server gives a body out once", async () => {
  let message: unknown;
  await withTestServer({
    handler: async (request) => {
      await request.body(10);
      await request.body(10).catch((error) => message = error.message);
      return { status: 204, headers: {} };
    },
  }, async ({ connect }) => {
    const client = await connect();
    await client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await client.answer();
    assertEquals(message, "Cannot read body: it was read before");
  });
});

Deno.test("Http1Server ends the wait for a body that was answered before", async () => {
  let outcome: Promise<BodyOutcome> | undefined;
  await withTestServer({
    handler: (request) => {
      outcome = request.body(100);
      return Promise.resolve({ status: 202, headers: {}, body: "early" });
    },
  }, async ({ connect }) => {
    const client = await connect();
    await client.send(
      "POST /1 HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nab",
    );
    assertEquals((await client.answer()).body, "early");
    assertEquals(await outcome, { kind: "aborted", reason: "disconnected" });
    await client.send("cdPOST /2 HTTP/1.1\r\nhost: x\r\n\r\n");
    assertEquals((await client.answer()).status, 202);
    assert((await outcome)?.kind === "ok");
  });
});

Deno.test("Http1Server tells the handler when the body ends too early", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = createTaker(outcomes, 100);
  await withTestServer({ handler }, async ({ connect, server }) => {
    const client = await connect();
    await client.send(
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nab",
    );
    await client.sendEnd();
    await client.rest();
    await waitUntil(() => server.connections === 0, { what: "the end" });
    assertEquals(outcomes, [{ kind: "aborted", reason: "disconnected" }]);
  });
});

Deno.test("BodyBuffer.finish() returns what was added", () => {
  const gather = new BodyBuffer({ maxBytes: 10_000, allow: () => true });
  const expected = Uint8Array.from({ length: 5000 }, (_, index) => index);
  for (let at = 0; at < expected.length; at += 7) {
    assertEquals(gather.add(expected.subarray(at, at + 7)), true);
  }
  assertEquals(gather.length, 5000);
  assertEquals(gather.finish(), expected);
});

Deno.test("BodyBuffer asks for all the memory it takes, and for no more", () => {
  let asked = 0;
  const gather = new BodyBuffer({
    maxBytes: 3000,
    allow: (bytes) => (asked += bytes) <= 3000,
  });
  for (let count = 0; count < 3000; count++) gather.add(new Uint8Array(1));
  assertEquals(asked, 3000);
  assertEquals(gather.finish().byteLength, 3000);
});

Deno.test("BodyBuffer.add() adds nothing when memory is refused", () => {
  const gather = new BodyBuffer({ maxBytes: 100, allow: () => false });
  assertEquals(gather.add(new Uint8Array(1)), false);
  assertEquals(gather.length, 0);
  assertEquals(gather.finish().byteLength, 0);
});
