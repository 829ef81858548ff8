import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { createSecureContext } from "node:tls";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { judgeTarget, type Target } from "./call_rules.ts";
import type { PushOutcome } from "./push_answer.ts";
import { PushCaller } from "./push_call.ts";
import { PushConnections } from "./push_connections.ts";
import { exchange } from "./push_exchange.ts";
import { createAllowList } from "./testing/create_allow_list.ts";
import { startWorker, type WorkerServer } from "./testing/worker_server.ts";
import { createServer } from "node:net";

const RULES = { allowHttp: true, allowList: createAllowList("127.0.0.1") };

interface World {
  readonly clock: FakeClock;
  /** Makes a call; returns its answer, or why there is none. */
  call(
    port: number,
    options?: { readonly owner?: string; readonly body?: string },
  ): Promise<string>;
  close(): Promise<void>;
}

function openWorld(): World {
  const clock = new FakeClock();
  const caller = new PushCaller({ ...RULES, clock });
  return {
    clock,
    close: () => caller.close(),
    async call(port, { owner = "ten_a", body = "{}" } = {}) {
      return said(
        await caller.call({
          url: `http://127.0.0.1:${port}/run`,
          ...{ method: "POST", headers: {}, timeoutMs: 30_000, owner, body },
        }),
      );
    },
  };
}

function said(outcome: PushOutcome): string {
  switch (outcome.kind) {
    case "answered":
      return outcome.bodyText;
    case "failed":
      return `${outcome.code}: ${outcome.message}`;
    case "refused":
      return outcome.reason;
  }
}

/** A server of raw answers, the next one for each request of a connection. */
async function startScripted(
  ...scripts: readonly (string | "hang up")[][]
): Promise<WorkerServer & { readonly requests: readonly string[] }> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    const script = [...scripts[connections++] ?? []];
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => {
      requests.push(String(chunk));
      const answer = script.shift() ?? "";
      if (answer === "hang up") socket.destroy();
      else socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  return {
    ...{ requests, port: address.port },
    connections: () => connections,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function ok(body: string, ...headers: readonly string[]): string {
  const head = ["HTTP/1.1 200 OK", `content-length: ${body.length}`];
  return [...head, ...headers, "", body].join("\r\n");
}

Deno.test("call() sends the next request over the same connection, for the same owner alone", async () => {
  await using server = await startWorker((request, response) => {
    request.resume();
    request.on("end", () => response.end("done"));
  });
  const world = openWorld();
  for (let round = 0; round < 5; round++) {
    assertEquals(await world.call(server.port), "done");
  }
  assertEquals(server.connections(), 1);
  assertEquals(await world.call(server.port, { owner: "ten_b" }), "done");
  assertEquals(server.connections(), 2);
  const many = Array.from({ length: 4 }, () => world.call(server.port));
  assertEquals(await Promise.all(many), ["done", "done", "done", "done"]);
  assertEquals(server.connections(), 5);
  await world.close();
  await waitUntil(() => server.open() === 0, { what: "the hanging up" });
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("call() keeps no connection whose answer ends it, or was not read whole", async () => {
  const long = "a".repeat(70_000);
  const answers = [
    ok("x", "connection: close"),
    "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx",
    ok(long),
    ok("x", "keep-alive: timeout=1"),
    ok("x"),
  ];
  await using server = await startScripted(
    ...answers.map((answer) => [answer]),
  );
  const world = openWorld();
  for (const answer of answers) {
    const body = answer.slice(answer.indexOf("\r\n\r\n") + 4, 65_700);
    assertEquals(
      (await world.call(server.port)).length,
      Math.min(body.length, 65_536),
    );
  }
  assertEquals(server.connections(), 5);
  await waitUntil(() => server.open() === 1, { what: "the hanging up" });
  await world.close();
});

Deno.test("a connection is closed before its server does so, and when it is old", async () => {
  await using server = await startScripted(
    [ok("a"), ok("b")],
    [ok("c", "keep-alive: timeout=10, max=5"), ok("d", "Keep-Alive: max=5")],
    Array.from({ length: 40 }, () => ok("e")),
    [ok("f")],
  );
  const world = openWorld();
  const { clock } = world;
  const call = () => world.call(server.port);
  assertEquals(await call(), "a");
  clock.advance(3_999);
  assertEquals(await call(), "b");
  clock.advance(4_000);
  assertEquals(await call(), "c");
  clock.advance(8_999);
  assertEquals(await call(), "d");
  clock.advance(4_000);
  for (let seconds = 0; seconds < 60; seconds += 3) {
    assertEquals(await call(), "e", `${seconds} s`);
    clock.advance(3_000);
  }
  assertEquals(await call(), "f");
  assertEquals(server.connections(), 4);
  await world.close();
});

Deno.test("call() takes a new connection when the kept one has ended, or has said something unasked", async () => {
  const world = openWorld();
  for (
    const end of [
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.write(ok("forged")),
    ]
  ) {
    const sockets: Socket[] = [];
    await using server = await startWorker((request, response) => {
      sockets.push(request.socket);
      request.resume();
      request.on("end", () => response.end(`${sockets.length}`));
    });
    assertEquals(await world.call(server.port), "1");
    end(sockets[0]!);
    await waitUntil(() => server.open() === 0, { what: "the hanging up" });
    world.clock.advance(1_000);
    assertEquals(await world.call(server.port), "2");
    assertEquals(server.connections(), 2);
  }
  await world.close();
});

Deno.test("call() does not repeat a request that the worker may have got", async () => {
  await using server = await startScripted([ok("a"), "hang up"], [ok("b")]);
  const world = openWorld();
  assertEquals(await world.call(server.port), "a");
  assertMatch(
    await world.call(server.port, { body: '{"n":2}' }),
    /^connection_failed: .*no answer/,
  );
  assertEquals(server.connections(), 1);
  assertEquals(await world.call(server.port), "b");
  assertEquals(
    server.requests.filter((text) => text.includes('"n":2')).length,
    1,
  );
  await world.close();
});

/** A connection that takes nothing, or takes a request and ends. */
function endedSocket(what: "takes nothing" | "takes all"): Socket {
  const socket = new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      if (what === "takes nothing") {
        return done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      }
      done();
      socket.destroy();
    },
  });
  // The HTTP client needs no more of a socket than what a stream has.
  return socket as unknown as Socket;
}

Deno.test("exchange() repeats a request of which a kept connection took nothing, if that is certain", async () => {
  await using server = await startWorker((request, response) => {
    request.resume();
    request.on("end", () => response.end("new"));
  });
  const verdict = judgeTarget(`http://127.0.0.1:${server.port}/`, RULES);
  assert(verdict.kind === "ok");
  const target: Target = verdict.target;
  const cases = [
    ["takes nothing", 10, "answered"],
    ["takes nothing", 20_000, "failed"],
    ["takes all", 10, "failed"],
  ] as const;
  for (const [what, length, expected] of cases) {
    class OneKept extends PushConnections {
      override take = () =>
        Promise.resolve({ socket: endedSocket(what), openedMs: 0 });
    }
    const connections = new OneKept(new FakeClock());
    const result = await exchange({
      ...{ target, connections, method: "POST", headers: {}, owner: "ten_a" },
      body: "a".repeat(length),
      lookup: () => {},
      secureContext: createSecureContext(),
      signal: new AbortController().signal,
    });
    assertEquals(result.kind, expected, what);
    if (result.kind === "answered") {
      assertEquals(Buffer.from(result.answer.body).toString(), "new");
    }
    connections.close();
  }
  assertEquals(server.connections(), 1);
});

Deno.test("PushConnections keeps a bounded number, and closes the one kept longest", async () => {
  const clock = new FakeClock();
  const connections = new PushConnections(clock);
  const sockets = Array.from(
    { length: 300 },
    () => new Duplex({ read() {}, write() {} }) as unknown as Socket,
  );
  for (const socket of sockets) {
    connections.keep({ socket, openedMs: clock.nowMs() }, {
      ...{ place: "p", keepAlive: undefined },
    });
  }
  assertEquals(connections.size, 256);
  assertEquals(
    [sockets[43]?.destroyed, sockets[44]?.destroyed],
    [true, false],
  );
  assertEquals((await connections.take("p"))?.socket, sockets[299]);
  assertEquals(await connections.take("q"), undefined);
  connections.close();
  assert(sockets.slice(0, 299).every(({ destroyed }) => destroyed));
  sockets[299]?.destroy();
});
