import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { Resolve } from "./address_guard.ts";
import { PushCaller, type PushRequest } from "./push_call.ts";
import type { PushOutcome } from "./push_answer.ts";
import type { PushFailure } from "./push_failure.ts";
import { createAllowList } from "./testing/create_allow_list.ts";
import {
  startRawWorker,
  startWorker,
  type WorkerServer,
} from "./testing/worker_server.ts";

/** An answer of a worker. */
type PushAnswer = Extract<PushOutcome, { readonly kind: "answered" }>;

const LOOPBACK = createAllowList("127.0.0.1", "::1");

function createCaller(
  options: Partial<ConstructorParameters<typeof PushCaller>[0]> = {},
): PushCaller {
  return new PushCaller({
    allowHttp: true,
    allowList: LOOPBACK,
    resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
    ...options,
  });
}

function requestTo(
  { port }: Pick<WorkerServer, "port">,
  fields: Partial<PushRequest> = {},
): PushRequest {
  return {
    url: `http://worker.example:${port}/run?token=s3cret`,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
    owner: "ten_a",
    timeoutMs: 30_000,
    ...fields,
  };
}

function answered(outcome: PushOutcome): PushAnswer {
  assert(outcome.kind === "answered", JSON.stringify(outcome));
  return outcome;
}

function failed(outcome: PushOutcome): PushFailure {
  assert(outcome.kind === "failed", JSON.stringify(outcome));
  assert(!outcome.message.includes("s3cret"), outcome.message);
  return outcome;
}

Deno.test("call() sends the request as it is and reads the answer", async () => {
  const seen: unknown[] = [];
  await using server = await startWorker((request, response) => {
    const { method, url, headers } = request;
    request.setEncoding("utf8");
    let body = "";
    request.on("data", (text) => body += text);
    request.on("end", () => {
      seen.push({ method, url, headers, body });
      response.writeHead(200, {
        "content-type": "application/json",
        "retry-after": "3",
        "task-retry": "no",
        "task-lease": "60",
      });
      response.end('{"ok":"ä"}');
    });
  });
  const caller = createCaller();
  const outcome = answered(
    await caller.call(
      requestTo(server, {
        headers: { "Task-Id": "tsk_1", "content-type": "application/json" },
        body: '{"text":"ä"}',
      }),
    ),
  );
  const { durationMs, ...rest } = outcome;
  assert(durationMs >= 0 && durationMs < 30_000);
  assertEquals(rest, {
    kind: "answered",
    status: 200,
    headers: {
      "content-type": "application/json",
      "retry-after": "3",
      "task-lease": "60",
      "task-retry": "no",
    },
    bodyText: '{"ok":"ä"}',
    isTruncated: false,
    retryAfterMs: 3_000,
    leaseMs: 60_000,
    isFinal: true,
  });
  assertEquals(seen, [{
    method: "POST",
    url: "/run?token=s3cret",
    headers: {
      "task-id": "tsk_1",
      "content-type": "application/json",
      "accept-encoding": "identity",
      "content-length": "13",
      host: `worker.example:${server.port}`,
      connection: "keep-alive",
    },
    body: '{"text":"ä"}',
  }]);
  await caller.close();
});

Deno.test("call() accepts any status, with a body or without", async () => {
  await using server = await startWorker((request, response) => {
    response.statusCode = Number(request.url?.slice(1));
    response.setHeader("location", "/elsewhere");
    response.end();
  });
  const caller = createCaller();
  for (const status of [200, 204, 302, 304, 410, 501, 599]) {
    const url = `http://worker.example:${server.port}/${status}`;
    const outcome = answered(await caller.call(requestTo(server, { url })));
    assertEquals([outcome.status, outcome.bodyText], [status, ""]);
  }
  assertEquals(server.connections(), 1, "a redirect was followed");
  await caller.close();
});

Deno.test("call() uses each of the methods, and refuses others", async () => {
  await using server = await startWorker((request, response) => {
    response.end(request.method);
  });
  const caller = createCaller();
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    const outcome = await caller.call(requestTo(server, { method }));
    assertEquals(answered(outcome).bodyText, method);
  }
  for (const method of ["CONNECT", "post", "GET / HTTP/1.1\r\n\r\n", ""]) {
    const outcome = await caller.call(requestTo(server, { method }));
    assert(outcome.kind === "refused");
    assertEquals(outcome.code, "bad_method");
  }
  await caller.close();
});

Deno.test("call() refuses headers that could forge a request", async () => {
  await using server = await startWorker((_, response) => {
    response.end();
  });
  const caller = createCaller();
  for (
    const headers of [{ a: "b\r\nc: d" }, { "content-length": "0" }, {
      Host: "other",
    }]
  ) {
    const outcome = await caller.call(requestTo(server, { headers }));
    assert(outcome.kind === "refused");
    assertEquals(outcome.code, "bad_header");
  }
  assertEquals(server.connections(), 0);
  await caller.close();
});

Deno.test("call() refuses literal addresses before it connects", async () => {
  await using server = await startWorker((_, response) => {
    response.end("reached");
  });
  const caller = createCaller({ allowList: [] });
  const hosts = [
    ...["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "127.1"],
    ...["[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "127.0.0.1.", "localhost"],
  ];
  for (const host of hosts) {
    const url = `http://${host}:${server.port}/`;
    const outcome = await caller.call(requestTo(server, { url }));
    assert(outcome.kind === "refused", host);
    assertEquals(outcome.code, "address_not_public", host);
  }
  assertEquals(server.connections(), 0);
  await caller.close();
});

Deno.test("call() reaches literal addresses that the list allows", async () => {
  await using server = await startWorker((request, response) => {
    response.end(request.headers.host);
  });
  await using server6 = await startWorker((request, response) => {
    response.end(request.headers.host);
  }, "::1");
  const caller = createCaller();
  const url = `http://0x7f.1:${server.port}/`;
  const outcome = await caller.call(requestTo(server, { url }));
  assertEquals(answered(outcome).bodyText, `127.0.0.1:${server.port}`);
  const url6 = `http://[0:0::1]:${server6.port}/`;
  const outcome6 = await caller.call(requestTo(server6, { url: url6 }));
  assertEquals(answered(outcome6).bodyText, `[::1]:${server6.port}`);
  await caller.close();
});

Deno.test("call() refuses a name that has an address which is not allowed", async () => {
  await using server = await startWorker((_, response) => {
    response.end("reached");
  }, "127.0.0.2");
  const caller = createCaller({
    resolve: () =>
      Promise.resolve([
        { address: "127.0.0.1", family: 4 },
        { address: "127.0.0.2", family: 4 },
      ]),
  });
  const outcome = await caller.call(requestTo(server));
  assertEquals(outcome, {
    kind: "refused",
    code: "address_not_public",
    reason: 'Cannot call "worker.example": it has an address of the loopback',
  });
  assertEquals(server.connections(), 0);
  await caller.close();
});

Deno.test("call() connects to the address it checked, though the name changes its mind", async () => {
  await using allowed = await startWorker((_, response) => {
    response.end("allowed");
  });
  const answers = ["127.0.0.1", "127.0.0.2"];
  let lookups = 0;
  const resolve: Resolve = () => {
    const address = answers[lookups++ % 2] ?? "";
    return Promise.resolve([{ address, family: 4 }]);
  };
  const caller = createCaller({ resolve });
  for (let round = 0; round < 3; round++) {
    // The connections of other owners are not shared.
    const [owner, other] = [`ten_${round}`, "ten_other"];
    const first = await caller.call(requestTo(allowed, { owner }));
    assertEquals(answered(first).bodyText, "allowed");
    assertEquals(lookups, 2 * round + 1, "the name was resolved again");
    const second = await caller.call(requestTo(allowed, { owner: other }));
    assertEquals(second.kind, "refused");
    assertEquals(lookups, 2 * round + 2);
  }
  assertEquals(allowed.connections(), 3);
  await caller.close();
});

Deno.test("call() tries the next address when one does not answer", async () => {
  await using server = await startWorker((_, response) => {
    response.end("here");
  });
  const caller = createCaller({
    resolve: () =>
      Promise.resolve([
        { address: "::1", family: 6 },
        { address: "127.0.0.1", family: 4 },
      ]),
  });
  const outcome = await caller.call(requestTo(server));
  assertEquals(answered(outcome).bodyText, "here");
  await caller.close();
});

Deno.test("call() tells that a name can't be resolved", async () => {
  const caller = createCaller({
    resolve: () => Promise.reject(new Error("getaddrinfo ENOTFOUND")),
  });
  const outcome = failed(await caller.call(requestTo({ port: 9_999 })));
  assertEquals(outcome.code, "dns_failed");
  assertEquals(
    outcome.message,
    'Cannot resolve "worker.example": "getaddrinfo ENOTFOUND"',
  );
  await caller.close();
});

Deno.test("call() says that no server listens", async () => {
  const server = await startWorker(() => {});
  await server[Symbol.asyncDispose]();
  const caller = createCaller();
  const outcome = failed(await caller.call(requestTo(server)));
  assertEquals(outcome.code, "connection_failed");
  assertMatch(outcome.message, /: no connection: .*ECONNREFUSED/);
  await caller.close();
});

Deno.test("call() tells that the connection broke before or within the answer", async () => {
  const heads = [
    "",
    "HTTP/1.1 200 OK\r\ncontent-le",
    "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
  ];
  const caller = createCaller();
  for (const head of heads) {
    for (const end of ["end", "resetAndDestroy"] as const) {
      await using server = await startRawWorker((socket) => {
        socket.write(head, () => socket[end]());
      });
      const outcome = failed(await caller.call(requestTo(server)));
      assertEquals(outcome.code, "connection_failed", `${end} ${head}`);
    }
  }
  await caller.close();
});

Deno.test("call() accepts a body that the connection's end closes", async () => {
  await using server = await startRawWorker((socket) => {
    socket.end("HTTP/1.0 200 OK\r\n\r\nall of it");
  });
  const caller = createCaller();
  const outcome = answered(await caller.call(requestTo(server)));
  assertEquals([outcome.bodyText, outcome.isTruncated], ["all of it", false]);
  await caller.close();
});

Deno.test("call() tells what is no HTTP", async () => {
  const caller = createCaller();
  for (
    const text of ["SSH-2.0-x\r\n", "HTTP/1.1 abc\r\n\r\n", "\u0000\u0001"]
  ) {
    await using server = await startRawWorker((socket) => {
      socket.write(text);
    });
    const outcome = failed(await caller.call(requestTo(server)));
    assertEquals(outcome.code, "bad_answer", text);
  }
  await caller.close();
});

Deno.test("call() bounds the answer's head", async () => {
  const caller = createCaller();
  const codes: string[] = [];
  for (const length of [15_000, 17_000]) {
    await using server = await startRawWorker((socket) => {
      socket.end(`HTTP/1.1 204 OK\r\na: ${"b".repeat(length)}\r\n\r\n`);
    });
    const outcome = await caller.call(requestTo(server));
    codes.push(outcome.kind === "failed" ? outcome.code : outcome.kind);
  }
  assertEquals(codes, ["answered", "bad_answer"]);
  await caller.close();
});

Deno.test("call() bounds what is neither head nor body", async () => {
  const floods: readonly (readonly [string, string])[] = [
    ["", "HTTP/1.1 102 Processing\r\n\r\n"],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", "x=y;"],
  ];
  const caller = createCaller();
  for (const [begin, text] of floods) {
    const part = text.repeat(1_000);
    await using server = await startRawWorker((socket) => {
      socket.write(begin);
      const more = (): void => {
        while (!socket.destroyed && socket.write(part));
      };
      socket.on("drain", more);
      more();
    });
    const outcome = failed(await caller.call(requestTo(server)));
    assertEquals(outcome.code, "bad_answer");
    assertStringIncludes(outcome.message, "it takes more than 1114112 bytes");
    await waitUntil(() => server.open() === 0, { what: "the hanging up" });
  }
  await caller.close();
});

Deno.test("call() keeps the beginning of an endless body and hangs up", async () => {
  await using server = await startWorker((_, response) => {
    const chunk = Buffer.alloc(10_000, "a");
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", more);
    more();
  });
  const caller = createCaller();
  const outcome = answered(await caller.call(requestTo(server)));
  assertEquals(outcome.bodyText.length, 65_536);
  assertEquals(outcome.isTruncated, true);
  await waitUntil(() => server.open() === 0, { what: "the hanging up" });
  await caller.close();
});

Deno.test("call() keeps a body of just the bound whole", async () => {
  await using server = await startWorker((request, response) => {
    response.end("a".repeat(Number(request.url?.slice(1))));
  });
  const caller = createCaller();
  const bound = 65_536;
  for (const length of [bound - 1, bound, bound + 1]) {
    const url = `http://worker.example:${server.port}/${length}`;
    const outcome = answered(await caller.call(requestTo(server, { url })));
    assertEquals(outcome.bodyText, "a".repeat(Math.min(bound, length)));
    assertEquals(outcome.isTruncated, length > bound);
  }
  await caller.close();
});

Deno.test("call() reads compressed answers, and refuses what expands without end", async () => {
  const text = JSON.stringify({ ok: "ä".repeat(1_000) });
  const bodies: Readonly<Record<string, readonly [string, Uint8Array]>> = {
    "/gzip": ["gzip", gzipSync(text)],
    "/x-gzip": ["X-GZIP", gzipSync(text)],
    "/br": ["br", brotliCompressSync(text)],
    "/plain": ["identity", Buffer.from(text)],
    "/long": ["gzip", gzipSync("a".repeat(1_000_000))],
    "/bomb": ["br", brotliCompressSync(Buffer.alloc(10_000_000))],
    "/cut": ["gzip", gzipSync(noise(200_000))],
    "/broken": ["gzip", gzipSync(text).subarray(0, 30)],
    "/zstd": ["zstd", Buffer.from("(µ/ý")],
    "/twice": ["gzip, br", Buffer.from(text)],
    "/none": ["gzip", new Uint8Array()],
  };
  await using server = await startWorker((request, response) => {
    const [encoding, body] = bodies[request.url ?? ""] ?? ["", Buffer.from("")];
    response.writeHead(200, { "content-encoding": encoding });
    response.end(body);
  });
  const caller = createCaller();
  const read = async (path: string): Promise<PushAnswer> => {
    const url = `http://worker.example:${server.port}${path}`;
    return answered(await caller.call(requestTo(server, { url })));
  };
  for (const path of ["/gzip", "/x-gzip", "/br", "/plain"]) {
    const { bodyText, isTruncated, unreadable } = await read(path);
    assertEquals([bodyText, isTruncated, unreadable], [text, false, undefined]);
  }
  for (const path of ["/long", "/cut"]) {
    const { bodyText, isTruncated } = await read(path);
    assertEquals([bodyText.length, isTruncated], [65_536, true], path);
  }
  const faults: Readonly<Record<string, string>> = {
    "/bomb": "it expands to more than 1114112 bytes",
    "/broken": "it is not gzip",
    "/zstd": 'its content-encoding is "zstd", not gzip, br or none',
    "/twice": 'its content-encoding is "gzip, br", not gzip, br or none',
  };
  for (const [path, fault] of Object.entries(faults)) {
    const { bodyText, unreadable } = await read(path);
    assertEquals([bodyText, unreadable], ["", fault], path);
  }
  assertEquals((await read("/none")).bodyText, "");
  await caller.close();
});

/** Text that is hard to compress. */
function noise(length: number): string {
  const random = new SeededRandom(1);
  return [...random.bytes(length)].map((byte) => byte % 10).join("");
}

Deno.test("call() ends at its time-out wherever it hangs", async () => {
  const hangs = [
    "",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx-a: ",
    "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
  ];
  for (const text of hangs) {
    let hasHung = false;
    await using server = await startRawWorker((socket) => {
      socket.write(text);
      hasHung = true;
    });
    const clock = new FakeClock();
    const caller = createCaller({ clock });
    const call = caller.call(requestTo(server, { timeoutMs: 1_500 }));
    await waitUntil(() => hasHung, { what: "the request" });
    clock.advance(1_500);
    const outcome = failed(await call);
    assertEquals(outcome.code, "timed_out");
    assertMatch(outcome.message, / within 1500 ms$/);
    await waitUntil(() => server.open() === 0, { what: "the hanging up" });
    assertEquals(clock.pendingTimers, 0);
    await caller.close();
  }
});

Deno.test("call() ends at its time-out while a name is resolved", async () => {
  const found = Promise.withResolvers<
    readonly { readonly address: string; readonly family: 4 }[]
  >();
  const asked = Promise.withResolvers<void>();
  await using server = await startWorker((_, response) => {
    response.end();
  });
  const clock = new FakeClock();
  const caller = createCaller({
    clock,
    resolve() {
      asked.resolve();
      return found.promise;
    },
  });
  const call = caller.call(requestTo(server, { timeoutMs: 10 }));
  await asked.promise;
  clock.advance(10);
  const outcome = failed(await call);
  assertEquals(outcome.code, "timed_out");
  assertStringIncludes(outcome.message, "no connection within 10 ms");
  found.resolve([{ address: "127.0.0.1", family: 4 }]);
  await caller.close();
  assertEquals(server.connections(), 0);
});

Deno.test("call() ends when its signal is aborted", async () => {
  const arrived = Promise.withResolvers<void>();
  await using server = await startWorker(() => arrived.resolve());
  const caller = createCaller();
  const controller = new AbortController();
  const { signal } = controller;
  const call = caller.call(requestTo(server, { signal }));
  await arrived.promise;
  controller.abort();
  assertEquals(failed(await call).code, "canceled");
  await waitUntil(() => server.open() === 0, { what: "the hanging up" });
  const again = await caller.call(requestTo(server, { signal }));
  assertEquals(failed(again).code, "canceled");
  assertEquals(server.connections(), 1);
  await caller.close();
});

Deno.test("close() ends what runs, and later calls", async () => {
  let arrived = 0;
  await using server = await startWorker(() => void arrived++);
  const clock = new FakeClock();
  const caller = createCaller({ clock });
  const calls = [1, 2, 3].map(() => caller.call(requestTo(server)));
  await waitUntil(() => arrived === 3, { what: "three requests" });
  await caller.close();
  for (const outcome of await Promise.all(calls)) {
    assertEquals(failed(outcome).code, "canceled");
  }
  const late = await caller.call(requestTo(server));
  assertEquals(failed(late).code, "canceled");
  await waitUntil(() => server.open() === 0, { what: "the hanging up" });
  assertEquals([arrived, clock.pendingTimers], [3, 0]);
  await caller.close();
});

Deno.test("call() keeps many calls at once apart", async () => {
  await using server = await startWorker((request, response) => {
    response.end(request.url);
  });
  const caller = createCaller();
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, (_, index) => {
      const url = `http://worker.example:${server.port}/${index}`;
      return caller.call(requestTo(server, { url }));
    }),
  );
  assertEquals(
    outcomes.map((outcome) => answered(outcome).bodyText),
    Array.from({ length: 100 }, (_, index) => `/${index}`),
  );
  await caller.close();
});
