import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { BodyOutcome } from "../http/exchange.ts";
import type { HttpHandler } from "../http/exchange.ts";
import type { RawClient } from "./testing/raw_client.ts";
import { echo, withTestServer } from "./testing/test_server.ts";

const WHOLE = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

Deno.test("Http1Server answers others while 1,000 requests are half-sent", async () => {
  const clock = new FakeClock();
  const outcomes: BodyOutcome[] = [];
  const handler: HttpHandler = async (request) => {
    if (request.target !== "/half") return await echo(request);
    outcomes.push(await request.body(1000));
    return { status: 408, headers: {} };
  };
  await withTestServer(
    { handler, clock, requestTimeoutMs: 20_000 },
    async ({ connect, server }) => {
      const clients: RawClient[] = [];
      for (let count = 0; count < 500; count++) {
        const head = await connect();
        await head.send("POST /x HTTP/1.1\r\nhost: x\r\ncontent-le");
        const body = await connect();
        await body.send(
          "POST /half HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf",
        );
        clients.push(head, body);
      }
      await waitUntil(() => server.connections === 1000, { what: "all" });
      for (let count = 0; count < 100; count++) {
        const client = await connect();
        await client.send(WHOLE);
        assertEquals((await client.answer()).body, "GET / ");
        client.close();
      }
      assertEquals(outcomes.length, 0);
      await clock.advanceAsync(10_200);
      const refusals = clients.filter((_, index) => index % 2 === 0);
      for (const client of refusals) {
        assertEquals((await client.answer()).status, 408);
      }
      await clock.advanceAsync(10_000);
      await waitUntil(() => outcomes.length === 500, { what: "all bodies" });
      for (const client of clients) await client.rest();
      // Clients that got the answer but stay connected are closed too.
      await clock.advanceAsync(5_200);
      await waitUntil(() => server.connections === 0, { what: "the end" });
    },
  );
});

Deno.test("Http1Server closes the connection that owes it something longest", async () => {
  const clock = new FakeClock();
  await withTestServer(
    { handler: echo, clock, maxConnections: 3 },
    async ({ connect, logger }) => {
      const clients: RawClient[] = [];
      for (let count = 0; count < 3; count++) {
        const client = await connect();
        await client.send(WHOLE);
        await client.answer();
        clients.push(client);
      }
      const [first, second, third] = clients;
      // Now the second has been idle for the longest time.
      await first!.send(WHOLE);
      await first!.answer();
      const fourth = await connect();
      await fourth.send(WHOLE);
      await fourth.answer();
      assertEquals(await second!.rest(), "");
      const fifth = await connect();
      await fifth.send(WHOLE);
      await fifth.answer();
      assertEquals(await third!.rest(), "");
      await first!.send(WHOLE);
      await first!.answer();
      assertEquals(logger.listMessages("warning"), [
        "As many connections as allowed are open",
      ]);
    },
  );
});

Deno.test("Http1Server turns connections away while all wait for it", async () => {
  const release = Promise.withResolvers<void>();
  let running = 0;
  const handler: HttpHandler = async () => {
    running++;
    await release.promise;
    return { status: 204, headers: {} };
  };
  await withTestServer(
    { handler, maxConnections: 2 },
    async ({ connect }) => {
      const clients = [await connect(), await connect()];
      for (const client of clients) await client.send(WHOLE);
      await waitUntil(() => running === 2, { what: "both requests" });
      assertEquals(await (await connect()).rest(), "");
      release.resolve();
      for (const client of clients) {
        assertEquals((await client.answer()).status, 204);
      }
    },
  );
});

Deno.test("Http1Server tells the handler that the client has gone", async () => {
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let late = 0;
  const handler: HttpHandler = async (request) => {
    const stop = request.onGone(() => late += 100);
    stop();
    request.onGone(gone.resolve);
    asked.resolve();
    await gone.promise;
    assertEquals(request.isGone(), true);
    request.onGone(() => late++);
    return { status: 204, headers: {} };
  };
  await withTestServer({ handler }, async ({ connect, server }) => {
    const client = await connect();
    await client.send(WHOLE);
    await asked.promise;
    await client.sendEnd();
    await gone.promise;
    // The client may still read, having closed only its sending side.
    assertEquals((await client.answer()).status, 204);
    await waitUntil(() => server.connections === 0, { what: "the end" });
    assertEquals(late, 1);
  });
});

Deno.test("Http1Server notices that a client has gone which sent more", async () => {
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const handler: HttpHandler = async (request) => {
    request.onGone(gone.resolve);
    asked.resolve();
    await gone.promise;
    return { status: 204, headers: {} };
  };
  await withTestServer({ handler }, async ({ port, server }) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(new TextEncoder().encode(WHOLE + WHOLE));
    await asked.promise;
    connection.close();
    await gone.promise;
    await waitUntil(() => server.connections === 0, { what: "the end" });
  });
});

Deno.test("Http1Server lets no client get far ahead of its answers", async () => {
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let count = 0;
  const handler: HttpHandler = async () => {
    count++;
    asked.resolve();
    await release.promise;
    return { status: 204, headers: {} };
  };
  const requests = 1_500_000;
  await withTestServer({ handler }, async ({ port, connect }) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const all = new TextEncoder().encode(WHOLE.repeat(requests));
    let sent = 0;
    const sending = (async () => {
      try {
        while (sent < all.length) {
          sent += await connection.write(all.subarray(sent, sent + 65_536));
        }
      } catch {
        // The end of the test.
      }
    })();
    await asked.promise;
    let before = -1;
    await waitUntil(() => {
      const isSame = before === sent;
      before = sent;
      return isSame;
    }, { what: "a client that is held up", intervalMs: 50 });
    assert(sent < all.length, "everything was taken");
    assertEquals(count, 1);
    const other = await connect();
    await other.send(WHOLE);
    release.resolve();
    assertEquals((await other.answer()).status, 204);
    connection.close();
    await sending;
  });
});
