import { assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, grpcCaller } from "./grpc_caller.ts";
import { request } from "./http_caller.ts";
import { quietPort } from "./quiet_port.ts";
import { createRequest, dailyRule } from "./requests.ts";

const FILES = {
  "rules.yaml": dailyRule("long", { key: "user", limit: 1_000_000 }),
};
const REQUEST = createRequest("long", { user: "anybody" });

/**
 * A duration of more milliseconds than the runtime's timers can count, 2 to the
 * 31.
 */
const SIX_WEEKS = "1008h";

/**
 * The warning that the runtime prints when it shortens such a duration to one
 * millisecond.
 */
const OVERFLOW = "TimeoutOverflowWarning";

Deno.test("ratelimit waits for six weeks where it is told to", async (t) => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      LOG_LEVEL: "info",
      GRPC_MAX_CONNECTION_AGE: SIX_WEEKS,
      SHUTDOWN_DRAIN_DELAY: SIX_WEEKS,
      DISABLE_STATS: "false",
      STATSD_HOST: "127.0.0.1",
      STATSD_PORT: String(quietPort()),
      STATS_FLUSH_INTERVAL: SIX_WEEKS,
    },
  });
  const assertNoOverflow = (): void =>
    assertEquals(service.stderr.includes(OVERFLOW), false, service.stderr);

  await t.step(
    "ratelimit flushes statistics no oftener than every six weeks",
    async () => {
      await request(`${service.httpUrl}/healthcheck`);
      assertNoOverflow();
    },
  );

  await t.step(
    "ratelimit keeps gRPC connections whose greatest age is six weeks",
    async () => {
      await using caller = await grpcCaller(service.grpcTarget);
      for (let call = 0; call < 20; call++) {
        const { overallCode, details } = await caller.decide(REQUEST);
        assertEquals([overallCode, details], [CODES.OK, ""], service.stderr);
      }
      assertNoOverflow();
    },
  );

  await t.step(
    "ratelimit serves on for a drain delay of six weeks",
    async () => {
      service.signal("SIGTERM");
      await service.waitForLine("Service stopping");
      await waitUntil(
        async () =>
          (await request(`${service.httpUrl}/healthcheck`)).status === 503,
        { what: "failing health" },
      );
      assertEquals(service.exitCode, undefined, service.stderr);
      assertNoOverflow();
    },
  );
});
