import { assertEquals } from "@std/assert";
import { echo, withTestServer } from "./testing/test_server.ts";

/** A request that must never be seen: it hides in the one before. */
const HIDDEN = "GET /hidden HTTP/1.1\r\nhost: x\r\n\r\n";

/**
 * Requests that one server in a chain of proxies might read as one request, and
 * another as two.
 */
const FIXTURES: Readonly<Record<string, string>> = {
  "length and coding":
    "content-length: 6\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  "two lengths": "content-length: 0\r\ncontent-length: 30\r\n\r\n",
  "a list of lengths": "content-length: 0, 0\r\n\r\n",
  "a length with a sign": "content-length: +0\r\n\r\n",
  "an unknown coding": "transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
  "a doubled coding":
    "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n",
  "a coding with a space before the colon":
    "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
  "a folded coding": "transfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
  "a bare line feed": "x: y\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  "a bare carriage return": "x: y\rcontent-length: 30\r\n\r\n",
  "a null": "x: y\0\r\n\r\n",
  "two hosts": "host: y\r\n\r\n",
  "a bad chunk size": "transfer-encoding: chunked\r\n\r\n0x0\r\n\r\n",
  "a signed chunk size": "transfer-encoding: chunked\r\n\r\n-0\r\n\r\n",
  "a chunk size too large":
    "transfer-encoding: chunked\r\n\r\n100000000\r\n\r\n",
  "a bare line feed after a chunk size":
    "transfer-encoding: chunked\r\n\r\n0\n\r\n",
  "a bare line feed in a chunk extension":
    "transfer-encoding: chunked\r\n\r\n0;a\nb\r\n\r\n",
  "a chunk longer than its size":
    "transfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
};

for (const [name, rest] of Object.entries(FIXTURES)) {
  Deno.test(`Http1Server refuses a request with ${name}`, async () => {
    const seen: string[] = [];
    await withTestServer({
      handler: (request) => {
        seen.push(request.target);
        return echo(request);
      },
    }, async ({ connect }) => {
      const client = await connect();
      await client.send(`POST /shown HTTP/1.1\r\nhost: x\r\n${rest}${HIDDEN}`);
      const { status, headers, body } = await client.answer();
      assertEquals([status, headers["connection"]], [400, "close"]);
      assertEquals(headers["content-type"], "application/problem+json");
      assertEquals(JSON.parse(body).status, 400);
      await client.sendEnd();
      assertEquals(await client.rest(), "");
      assertEquals(seen.includes("/hidden"), false);
    });
  });
}

Deno.test("Http1Server answers what is no HTTP with a problem", async () => {
  await withTestServer({ handler: echo }, async ({ connect }) => {
    for (
      const [text, status] of [
        ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
        ["hello\r\n\r\n", 400],
        ["\r\n\r\n\r\n", 400],
        ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
        [`GET /${"a".repeat(20_000)}`, 414],
        [`GET / HTTP/1.1\r\nx: ${"a".repeat(20_000)}`, 431],
        [`GET / HTTP/1.1\r\nhost: x\r\nx: ${"a".repeat(16_384)}\r\n\r\n`, 431],
        [`GET / HTTP/1.1\r\nhost: x\r\n${"x: 1\r\n".repeat(101)}\r\n`, 431],
      ] as const
    ) {
      const client = await connect();
      await client.send(text);
      assertEquals((await client.answer()).status, status, text.slice(0, 40));
      await client.sendEnd();
      assertEquals(await client.rest(), "");
    }
  });
});

Deno.test("Http1Server takes a head up to its bound", async () => {
  const start = "GET / HTTP/1.1\r\nhost: x\r\nx: ";
  await withTestServer(
    { handler: echo, maxHeaderBytes: 2000 },
    async ({ connect }) => {
      const client = await connect();
      const filler = "a".repeat(2000 - start.length - 4);
      await client.send(`${start}${filler}\r\n\r\n`);
      assertEquals((await client.answer()).status, 200);
      await client.send(`${start}${filler}a\r\n\r\n`);
      assertEquals((await client.answer()).status, 431);
    },
  );
});
