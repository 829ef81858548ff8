import { assert, assertEquals, assertRejects } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type { HttpRequest } from "../http/exchange.ts";
import { Http1Server } from "./server.ts";
import { RawClient } from "./testing/raw_client.ts";
import { echo, withTestServer } from "./testing/test_server.ts";

const MEBIBYTE = 1_048_576;

Deno.test("Http1Server answers one request after the other", async () => {
  await withTestServer({ handler: echo }, async ({ connect }) => {
    const client = await connect();
    await client.send("GET /a?b=c HTTP/1.1\r\nhost: x\r\n\r\n");
    const first = await client.answer();
    assertEquals([first.status, first.body], [200, "GET /a?b=c "]);
    assertEquals(first.headers["connection"], undefined);
    assert(Math.abs(Date.parse(first.headers["date"]!) - Date.now()) < 60_000);
    await client.send(
      "POST /d HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nefg\r\n",
    );
    assertEquals((await client.answer()).body, "POST /d efg");
    // The empty line that some clients send after a body is no request.
    await client.send(
      "GET /h HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    );
    const last = await client.answer();
    assertEquals(last.body, "GET /h ");
    assertEquals(last.headers["connection"], "close");
    assertEquals(await client.rest(), "");
  });
});

Deno.test("Http1Server understands fetch() and its large bodies", async () => {
  await withTestServer({
    handler: async (request) => {
      const body = await request.body(10 * MEBIBYTE);
      assert(body.kind === "ok");
      return { status: 200, headers: {}, body: body.bytes };
    },
  }, async ({ port }) => {
    const body = crypto.getRandomValues(new Uint8Array(65_536));
    const all = new Uint8Array(MEBIBYTE).map((_, at) => body[at % 65_536]!);
    for (let round = 0; round < 3; round++) {
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: "POST",
        body: all,
      });
      assertEquals(await response.bytes(), all);
    }
  });
});

Deno.test("Http1Server answers pipelined requests in their order", async () => {
  let running = 0;
  await withTestServer({
    handler: async (request) => {
      running++;
      assertEquals(running, 1, "two at a time");
      // The first takes longest.
      const turns = 10 - Number(request.target.slice(1));
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const body = await request.body(100);
      assert(body.kind === "ok");
      running--;
      return { status: 200, headers: {}, body: request.target };
    },
  }, async ({ connect }) => {
    const client = await connect();
    const requests = Array.from(
      { length: 10 },
      (_, index) =>
        `POST /${index} HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nGET `,
    );
    await client.send(requests.join(""));
    for (let index = 0; index < 10; index++) {
      assertEquals((await client.answer()).body, `/${index}`);
    }
  });
});

Deno.test("Http1Server takes a request however it is torn", async () => {
  await withTestServer({ handler: echo }, async ({ connect }) => {
    const client = await connect();
    const requests =
      "POST /1 HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n" +
      "hello\r\nPOST /2 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n" +
      "\r\n3\r\nbye\r\n0\r\n\r\n";
    for (const byte of requests) await client.send(byte);
    assertEquals((await client.answer()).body, "POST /1 hello");
    assertEquals((await client.answer()).body, "POST /2 bye");
  });
});

Deno.test("Http1Server answers HEAD with the length and without the body", async () => {
  await withTestServer({ handler: echo }, async ({ connect }) => {
    const client = await connect();
    await client.send(
      "HEAD /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.1\r\nhost: x\r\n\r\n",
    );
    const head = await client.answer(true);
    assertEquals(head.headers["content-length"], "8");
    assertEquals((await client.answer()).body, "GET /b ");
  });
});

Deno.test("Http1Server speaks to clients of HTTP/1.0", async () => {
  await withTestServer({ handler: echo }, async ({ connect }) => {
    const once = await connect();
    await once.send("GET /a HTTP/1.0\r\n\r\n");
    const answer = await once.answer();
    assertEquals(answer.headers["connection"], "close");
    assertEquals(await once.rest(), "");
    const again = await connect();
    for (const path of ["/a", "/b"]) {
      await again.send(
        `GET ${path} HTTP/1.0\r\nconnection: keep-alive\r\n\r\n`,
      );
      const { body, headers } = await again.answer();
      assertEquals([body, headers["connection"]], [
        `GET ${path} `,
        "keep-alive",
      ]);
    }
  });
});

Deno.test("Http1Server answers a request to upgrade in HTTP/1.1, as if it asked for no upgrade", async () => {
  await withTestServer({ handler: echo }, async ({ connect }) => {
    const client = await connect();
    await client.send(
      "GET /a HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n" +
        "upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n",
    );
    const { status, body } = await client.answer();
    assertEquals([status, body], [200, "GET /a "]);
  });
});

Deno.test("Http1Server shows the handler the request", async () => {
  let seen: HttpRequest | undefined;
  await withTestServer({
    handler: (request) => {
      seen = request;
      return { status: 204, headers: {} };
    },
  }, async ({ connect }) => {
    const client = await connect();
    await client.send(
      "PUT /a HTTP/1.1\r\nhost: x\r\nauthorization: 1\r\nAuthorization: 2\r\n\r\n",
    );
    assertEquals((await client.answer()).status, 204);
    assert(seen !== undefined);
    assertEquals(seen.method, "PUT");
    assertEquals(seen.headers.all("authorization"), ["1", "2"]);
    assertEquals(seen.peer.address, "127.0.0.1");
    assert(seen.peer.port > 0);
    assertEquals(seen.isTls, false);
    assertEquals(seen.isGone(), false);
  });
});

Deno.test("Http1Server shows an IPv4 client as such on a port for both", async () => {
  const logger = new RecordingLogger();
  const server = new Http1Server({
    hostname: "::",
    port: 0,
    logger,
    handler: ({ peer }) => ({ status: 200, headers: {}, body: peer.address }),
  });
  const { port } = await server.start();
  try {
    using client = await RawClient.connect(port);
    await client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    assertEquals((await client.answer()).body, "127.0.0.1");
  } finally {
    await server.stop(1000);
  }
});

Deno.test("Http1Server answers 500 without internals and goes on", async () => {
  await withTestServer({
    handler: (request) => {
      switch (request.target) {
        case "/throw?token=secret":
          throw new Error("hunter2");
        case "/reject":
          return Promise.reject(new Error("hunter2"));
        case "/header":
          return { status: 200, headers: { x: "hunter2\r\ny: z" } };
        default:
          return Promise.resolve({ status: 99, headers: {} });
      }
    },
  }, async ({ connect, logger }) => {
    const client = await connect();
    for (const target of ["/throw?token=secret", "/reject", "/header", "/x"]) {
      await client.send(`GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
      const { status, body, headers } = await client.answer();
      assertEquals(status, 500, target);
      assertEquals(headers["content-type"], "application/problem+json");
      const { title, status: told, code } = JSON.parse(body);
      assertEquals([title, told, code], [
        "Internal Server Error",
        500,
        "internal",
      ]);
    }
    const errors = logger.lines.filter(({ level }) => level === "error");
    assertEquals(
      errors.map(({ fields }) => fields["path"]),
      ["/throw", "/reject", "/header", "/x"],
    );
    assert(String(errors[0]?.fields["error"]).includes("hunter2"));
  });
});

Deno.test("Http1Server tells a client to continue when the body is wanted", async () => {
  const head = "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n" +
    "expect: 100-continue\r\n\r\n";
  await withTestServer({ handler: echo }, async ({ connect }) => {
    const client = await connect();
    await client.send(head);
    await client.waitFor("HTTP/1.1 100 Continue\r\n\r\n");
    await client.send("hi");
    assertEquals((await client.answer()).body, "POST /a hi");
    // A client that sends the body at once gets no 100 (Continue).
    await client.send(`${head}ho`);
    assertEquals((await client.answer()).body, "POST /a ho");
  });
  await withTestServer({
    handler: () => ({ status: 403, headers: {} }),
  }, async ({ connect }) => {
    const client = await connect();
    await client.send(head);
    const { status, headers } = await client.answer();
    assertEquals([status, headers["connection"]], [403, "close"]);
  });
});

Deno.test("Http1Server.start() rejects when it cannot or may not", async () => {
  const logger = new RecordingLogger();
  const options = { hostname: "127.0.0.1", handler: echo, logger };
  const server = new Http1Server({ ...options, port: 0 });
  const { port } = await server.start();
  const second = new Http1Server({ ...options, port });
  await assertRejects(() => second.start(), Deno.errors.AddrInUse);
  await second.stop(0);
  await assertRejects(() => server.start(), Error, "it was started before");
  await server.stop(0);
  const stopped = new Http1Server({ ...options, port: 0 });
  await stopped.stop(0);
  await assertRejects(() => stopped.start(), Error, "it was stopped");
});
