import { assert, assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { DECIDE_PATH, grpcCaller, STATUS } from "./grpc_caller.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

const FILES = { "rules.yaml": dailyRule("odd", { key: "user", limit: 5 }) };

Deno.test("ratelimit takes the path from the request line, whatever the host is", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await serveHere({ RUNTIME_ROOT: folder.root });
  const port = Number(new URL(service.debugUrl).port);
  for (const host of ["a/rlconfig?", "a/rlconfig#", "a?/rlconfig"]) {
    const answer = await exchange(
      port,
      `GET /none HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    );
    assert(/^HTTP\/1\.1 40[04] /.test(answer), `${host}: ${answer}`);
    assert(!answer.includes("odd.user"), `${host}: ${answer}`);
  }
});

Deno.test("ratelimit leaves a connection with half a request when the grace is over", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      LOG_LEVEL: "info",
      SHUTDOWN_GRACE: "200ms",
    },
  });
  const port = Number(new URL(service.httpUrl).port);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(
    "POST /json HTTP/1.1\r\nhost: a\r\ncontent-length: 90\r\n\r\n{",
  ));
  // Once a complete request on another connection is answered, the incomplete
  // one has arrived, too.
  await exchange(
    port,
    "GET /healthcheck HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
  );
  service.signal("SIGTERM");
  await service.waitForExit();
  const { stderr } = service;
  // The listener closes the connection and logs that; no part of the service
  // counts as hanging.
  assertEquals(stderr.includes("did not stop in time"), false, stderr);
});

Deno.test("ratelimit refuses a call with more headers than MAX_HEADER_BYTES, and those beside it go on", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": dailyRule("odd", { key: "user", limit: 1_000 }),
  });
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    MAX_HEADER_BYTES: "20000",
  });
  await using caller = await grpcCaller(service.grpcTarget);
  const request = caller.encodeRequest(createRequest("odd", { user: "a" }));
  const callWith = (bytes: number) =>
    caller.unary(DECIDE_PATH, request, { metadata: { x: "y".repeat(bytes) } });
  const ordinary = Array.from({ length: 100 }, () => callWith(10));
  const large = Array.from({ length: 10 }, () => callWith(40_000));
  const later = Array.from({ length: 100 }, () => callWith(19_000));
  for (const { status, details } of await Promise.all(large)) {
    assertEquals(status, STATUS.RESOURCE_EXHAUSTED);
    assert(/20000 bytes.*MAX_HEADER_BYTES/.test(details), details);
  }
  for (
    const { status, details } of [
      ...await Promise.all(ordinary),
      ...await Promise.all(later),
    ]
  ) {
    assertEquals([status, details], [STATUS.OK, ""]);
  }
  assertEquals(service.lines.filter((line) => line.includes("Closed a")), []);
  const port = Number(new URL(service.httpUrl).port);
  for (const [bytes, status] of [[19_000, 200], [21_000, 431]] as const) {
    const answer = await exchange(
      port,
      `GET /healthcheck HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(bytes)}\r\n` +
        "connection: close\r\n\r\n",
    );
    assert(answer.startsWith(`HTTP/1.1 ${status} `), answer);
  }
});

/** Sends a text as a request and reads until the connection ends. */
async function exchange(port: number, text: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(text));
  const timer = setTimeout(() => connection.close(), 5_000);
  try {
    return await new Response(connection.readable).text();
  } finally {
    clearTimeout(timer);
  }
}
