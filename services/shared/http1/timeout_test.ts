import { assertEquals, assertMatch } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { BodyOutcome } from "../http/exchange.ts";
import type { HttpHandler } from "../http/exchange.ts";
import { echo, withTestServer } from "./testing/test_server.ts";

const HALF_HEAD = "GET / HTTP/1.1\r\nhost: x\r\n";
const WHOLE = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

Deno.test("Http1Server answers 408 to half a head when its time is over", async () => {
  const clock = new FakeClock();
  await withTestServer({ handler: echo, clock }, async ({ connect }) => {
    const half = await connect();
    const silent = await connect();
    await half.send(HALF_HEAD);
    // Its answer shows that both have been taken, and read from.
    const other = await connect();
    await other.send(WHOLE);
    await other.answer();
    await clock.advanceAsync(9_999);
    await half.send("x");
    await clock.advanceAsync(200);
    const { status, headers } = await half.answer();
    assertEquals([status, headers["connection"]], [408, "close"]);
    // A client that has sent nothing gets no answer.
    assertEquals(await silent.rest(), "");
  });
});

Deno.test("Http1Server doesn't grant more time for single bytes", async () => {
  const clock = new FakeClock();
  await withTestServer({ handler: echo, clock }, async ({ connect }) => {
    const client = await connect();
    await client.send(WHOLE);
    await client.answer();
    await client.send(`${WHOLE.slice(0, -2)}x: `);
    let passedMs = 0;
    const ended = client.rest().finally(() => passedMs = NaN);
    while (passedMs < 30_000) {
      await client.trySend("x");
      await clock.advanceAsync(250);
      passedMs += 250;
      if (passedMs === 9_500) assertEquals(client.received, "");
    }
    assertMatch(await ended, /^HTTP\/1\.1 408 /);
  });
});

Deno.test("Http1Server closes an idle connection when its time is over", async () => {
  const clock = new FakeClock();
  await withTestServer(
    { handler: echo, clock, idleTimeoutMs: 20_000 },
    async ({ connect, server }) => {
      const client = await connect();
      await client.send(WHOLE);
      await client.answer();
      await clock.advanceAsync(19_900);
      assertEquals(server.connections, 1);
      await client.send(WHOLE);
      await client.answer();
      await clock.advanceAsync(19_900);
      assertEquals(server.connections, 1);
      await clock.advanceAsync(300);
      assertEquals(await client.rest(), "");
      await waitUntil(() => server.connections === 0, { what: "the end" });
    },
  );
});

Deno.test("Http1Server tells the handler when the time for the body is over", async () => {
  const clock = new FakeClock();
  const outcomes: BodyOutcome[] = [];
  const asked = Promise.withResolvers<void>();
  const handler: HttpHandler = async (request) => {
    const body = request.body(100);
    asked.resolve();
    outcomes.push(await body);
    return { status: 408, headers: {} };
  };
  await withTestServer({ handler, clock }, async ({ connect }) => {
    const client = await connect();
    await client.send(
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n",
    );
    await asked.promise;
    await clock.advanceAsync(59_000);
    await client.send("x");
    assertEquals(outcomes, []);
    await clock.advanceAsync(1_200);
    const { status, headers } = await client.answer();
    assertEquals([status, headers["connection"]], [408, "close"]);
    assertEquals(outcomes, [{ kind: "aborted", reason: "timed_out" }]);
  });
});

Deno.test("Http1Server lets a handler take longer than any request may", async () => {
  const clock = new FakeClock();
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const handler: HttpHandler = async () => {
    asked.resolve();
    await release.promise;
    return { status: 200, headers: {}, body: "at last" };
  };
  await withTestServer({ handler, clock }, async ({ connect }) => {
    const client = await connect();
    await client.send(WHOLE);
    await asked.promise;
    await clock.advanceAsync(600_000);
    release.resolve();
    assertEquals((await client.answer()).body, "at last");
  });
});

Deno.test("Http1Server gives up on a client that does not take its answer", async () => {
  const clock = new FakeClock();
  const body = new Uint8Array(50_000_000);
  const handler: HttpHandler = () => ({ status: 200, headers: {}, body });
  await withTestServer({ handler, clock }, async ({ connect, server }) => {
    const client = await connect();
    await client.send(WHOLE);
    await client.waitFor("\r\n\r\n");
    await waitUntil(async () => {
      await clock.advanceAsync(10_000);
      return server.connections === 0;
    }, { what: "the end of the connection", intervalMs: 1 });
  });
});

Deno.test("Http1Server doesn't wait for ever for what follows a refusal", async () => {
  const clock = new FakeClock();
  await withTestServer(
    { handler: echo, clock },
    async ({ connect, server }) => {
      const client = await connect();
      await client.send("nonsense\r\n\r\n");
      assertEquals((await client.answer()).status, 400);
      await client.send("more");
      assertEquals(server.connections, 1);
      await clock.advanceAsync(5_200);
      await waitUntil(() => server.connections === 0, { what: "the end" });
    },
  );
});
