import { assertEquals } from "@std/assert";
import { StatsRegistry } from "../stats/registry.ts";
import { altcacheTally, connectionTally } from "./store_telemetry.ts";

function figures(registry: StatsRegistry): Record<string, number> {
  return Object.fromEntries(
    registry.snapshot().flatMap((stat) =>
      stat.kind === "timer" || stat.value === 0
        ? []
        : [[`${stat.name} ${stat.kind}`, stat.value]]
    ),
  );
}

Deno.test("connectionTally() tells how many connections there are and have been", () => {
  const registry = new StatsRegistry();
  const tally = connectionTally(registry, "redis_per_second_pool");
  tally.opened();
  tally.opened();
  tally.closed();
  assertEquals(figures(registry), {
    "ratelimit.redis_per_second_pool.cx_active gauge": 1,
    "ratelimit.redis_per_second_pool.cx_local_close counter": 1,
    "ratelimit.redis_per_second_pool.cx_total counter": 2,
  });
});

Deno.test("altcacheTally() counts commands by outcome, what has no name of its own as an error", () => {
  const registry = new StatsRegistry();
  const tally = altcacheTally(registry);
  const rows = [
    ["multiget", "values"],
    ["multiget", "unavailable"],
    ["increment", "number"],
    ["increment", "not_found"],
    ["increment", "not_stored"],
    ["add", "stored"],
    ["add", "not_stored"],
    ["add", "not_found"],
    ["add", "refused"],
  ] as const;
  for (const [command, outcome] of rows) tally.command(command, outcome);
  tally.read({ requested: 5, found: 2 });
  assertEquals(figures(registry), {
    "ratelimit.memcache.add.__code=error counter": 2,
    "ratelimit.memcache.add.__code=not_stored counter": 1,
    "ratelimit.memcache.add.__code=success counter": 1,
    "ratelimit.memcache.increment.__code=error counter": 1,
    "ratelimit.memcache.increment.__code=miss counter": 1,
    "ratelimit.memcache.increment.__code=success counter": 1,
    "ratelimit.memcache.keys_found counter": 2,
    "ratelimit.memcache.keys_requested counter": 5,
    "ratelimit.memcache.multiget.__code=error counter": 1,
    "ratelimit.memcache.multiget.__code=success counter": 1,
  });
});
