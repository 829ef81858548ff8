import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { BodyOutcome } from "./body.ts";
import type { HttpHandler } from "./exchange.ts";
import { withPublicServer } from "./testing/public_test_server.ts";

const MEBIBYTE = 1_048_576;

/** Takes bodies up to `maxBytes` and keeps what came of them. */
function takerOf(
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

Deno.test("PublicServer lets a client see 413 though it sends everything first", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = takerOf(outcomes, MEBIBYTE);
  await withPublicServer({ handler }, async ({ connect }) => {
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

Deno.test("PublicServer counts a body without a declared length", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = takerOf(outcomes, 10 * MEBIBYTE);
  const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
  const head =
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  await withPublicServer({ handler }, async ({ connect }) => {
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

Deno.test("PublicServer bounds what all bodies hold, and lets small ones pass", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = takerOf(outcomes, MEBIBYTE);
  await withPublicServer({
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
    // When the slow one has got its memory nobody can tell from outside.
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

Deno.test("PublicServer keeps a connection whose small body nobody wanted", async () => {
  const handler: HttpHandler = ({ target }) => ({
    status: 401,
    headers: {},
    body: target,
  });
  await withPublicServer({ handler }, async ({ connect }) => {
    const client = await connect();
    await client.send(
      `POST /1 HTTP/1.1\r\nhost: x\r\ncontent-length: ${EVIL.length}\r\n\r\n`,
    );
    assertEquals((await client.answer()).body, "/1");
    await client.send(EVIL);
    await client.send("GET /2 HTTP/1.1\r\nhost: x\r\n\r\n");
    assertEquals((await client.answer()).body, "/2");
    // One that is too large, or of unknown length, ends the connection.
    await client.send(
      "POST /3 HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\n",
    );
    assertEquals((await client.answer()).headers["connection"], "close");
    await client.send(EVIL);
    await client.sendEnd();
    assertEquals(await client.rest(), "");
  });
});

Deno.test("PublicServer gives a body out once", async () => {
  let message: unknown;
  await withPublicServer({
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

Deno.test("PublicServer ends the wait for a body that was answered before", async () => {
  let outcome: Promise<BodyOutcome> | undefined;
  await withPublicServer({
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

Deno.test("PublicServer tells the handler when the body ends too early", async () => {
  const outcomes: BodyOutcome[] = [];
  const handler = takerOf(outcomes, 100);
  await withPublicServer({ handler }, async ({ connect, server }) => {
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
