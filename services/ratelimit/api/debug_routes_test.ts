import { assertEquals, assertStringIncludes } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { loadRules } from "../rules/load.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import { createStatsRegistry } from "../stats/registry.ts";
import { debugRoutes } from "./debug_routes.ts";
import { createRouter } from "./router.ts";

function ask(
  path: string,
  snapshot?: Snapshot,
): Response | Promise<Response> {
  const registry = createStatsRegistry();
  registry.counter("ratelimit.service.config_load_success").add(2);
  registry.counter("ratelimit.service.config_load_error").add(1);
  const router = createRouter({
    routes: debugRoutes({ snapshot: () => snapshot, registry }),
    logger: new RecordingLogger(),
  });
  return router(new Request(`http://service.test${path}`));
}

Deno.test("debugRoutes() lists its routes at the root", async () => {
  const text = await (await ask("/")).text();
  for (const path of ["/rlconfig: ", "/stats: "]) {
    assertStringIncludes(text, path);
  }
});

Deno.test("debugRoutes() shows the rules in force, and says when there are none", async () => {
  assertEquals(
    await (await ask("/rlconfig")).text(),
    "no rate limit configuration loaded\n",
  );
  const text = "domain: d\ndescriptors:\n" +
    "  - {key: a, rate_limit: {unit: day, requests_per_unit: 2}}\n" +
    "  - {key: b, value: x, rate_limit: {unlimited: true}}\n";
  const { snapshot } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(
    await (await ask("/rlconfig", snapshot)).text(),
    "d.a: unit=DAY requests_per_unit=2, " +
      "shadow_mode: false, quota_mode: false\n" +
      "d.b_x: unit=UNKNOWN requests_per_unit=0, " +
      "shadow_mode: false, quota_mode: false\n",
  );
});

Deno.test("debugRoutes() shows statistics as text and as JSON, filtered when asked", async () => {
  assertEquals(
    await (await ask("/stats")).text(),
    "ratelimit.service.config_load_error: 1\n" +
      "ratelimit.service.config_load_success: 2\n",
  );
  assertEquals(
    await (await ask("/stats?format=json&filter=error")).json(),
    {
      stats: [{
        name: "ratelimit.service.config_load_error",
        kind: "counter",
        value: 1,
      }],
    },
  );
});
