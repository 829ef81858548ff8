import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
} from "@std/assert";
import { runRatelimit, startRatelimit } from "../support/ratelimit_process.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { ConfigFolder } from "./config_folder.ts";
import { DECIDE_PATH } from "./grpc_caller.ts";
import { encodedRequest, ownChannel } from "./own_channel.ts";
import { createRequest, dailyRule } from "./requests.ts";

const FILES = {
  "rules.yaml": dailyRule("shift", { key: "user", limit: 1_000_000 }),
};
const REQUEST = createRequest("shift", { user: "ada" });

function parsePort(address: string): string {
  return address.slice(address.lastIndexOf(":") + 1).replace(/\/.*$/, "");
}

serviceTest(["redis-server"], {
  name:
    "ratelimit with REUSE_PORT hands its ports to another process, and no caller is left without an answer",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const server = await startRedisServer();
    stack.defer(() => server.stop());
    await using folder = await ConfigFolder.make(FILES);
    const env = {
      RUNTIME_ROOT: folder.root,
      REUSE_PORT: "true",
      KVSTORE_URL: `${server.host}:${server.port}`,
    };
    await using first = await startRatelimit({ env });
    const ports = {
      GRPC_PORT: parsePort(first.grpcTarget),
      PORT: parsePort(first.httpUrl),
      DEBUG_PORT: parsePort(first.debugUrl),
    };
    // Each call has a connection of its own, so that some connect during the
    // takeover. The kernel resets connections that the closing process has not
    // accepted, and callers retry.
    const http = first.httpUrl;
    const ask = async (): Promise<number> => {
      const response = await fetch(`${http}/json`, {
        method: "POST",
        headers: { "content-type": "application/json", connection: "close" },
        body: JSON.stringify({
          domain: "shift",
          descriptors: [{ entries: [{ key: "user", value: "ada" }] }],
        }),
      });
      await response.body?.cancel();
      return response.status;
    };
    const statuses: number[] = [];
    let isOver = false;
    const calls = (async () => {
      while (!isOver) statuses.push(await ask().catch(ask));
    })();
    await using second = await startRatelimit({ env: { ...env, ...ports } });
    // gRPC callers continue as well: a caller whose connection gets a GOAWAY
    // connects to the other process. The test does not use the gRPC library: in
    // one run out of four, the runtime's HTTP/2 under it crashed the tests with
    // SIGSEGV or SIGABRT when the server closed the connection.
    const channel = ownChannel(`127.0.0.1:${ports.GRPC_PORT}`);
    stack.defer(() => channel.close());
    const request = await encodedRequest(REQUEST);
    const decide = () =>
      channel.unary(DECIDE_PATH, request, { deadlineMs: 10_000 });
    assertInstanceOf(await decide(), Uint8Array);
    first.signal("SIGTERM");
    assertEquals(await first.waitForExit(), 0);
    const before = statuses.length;
    assertInstanceOf(await decide(), Uint8Array);
    for (let more = 0; more < 20; more++) assertEquals(await ask(), 200);
    isOver = true;
    await calls;
    assert(before > 0);
    assertEquals(statuses.filter((status) => status !== 200), []);
    assertEquals(second.exitCode, undefined);
  },
});

Deno.test("ratelimit without REUSE_PORT refuses ports that another process has", async () => {
  await using folder = await ConfigFolder.make(FILES);
  const env = { RUNTIME_ROOT: folder.root };
  await using first = await startRatelimit({ env });
  const run = await runRatelimit({
    env: { ...env, REUSE_PORT: "true", DEBUG_PORT: parsePort(first.debugUrl) },
  });
  assertEquals(run.code, 1);
  assertStringIncludes(run.stderr, "DEBUG_PORT");
});
