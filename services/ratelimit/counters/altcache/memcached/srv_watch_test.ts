import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../../tests/support/recording_logger.ts";
import { formatMemcachedAddress } from "./address.ts";
import { type SrvResolver, SrvWatch } from "./srv_watch.ts";

type Answer = Awaited<ReturnType<SrvResolver>> | Error | "silence";

function setUp(refreshMs: number, answers: Answer[]) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const lists: string[] = [];
  const failures: string[] = [];
  const asked: string[] = [];
  const watch = new SrvWatch({
    name: "_memcache._tcp.example.com",
    refreshMs,
    timeoutMs: 1_000,
    resolve: (name) => {
      asked.push(name);
      const answer = answers.shift() ?? "silence";
      if (answer === "silence") return new Promise(() => {});
      return answer instanceof Error
        ? Promise.reject(answer)
        : Promise.resolve(answer);
    },
    clock,
    random: () => 0.5,
    logger,
    onAddresses: (addresses) =>
      lists.push(addresses.map(formatMemcachedAddress).join(",")),
    onFailure: (reason) => failures.push(reason),
  });
  return { clock, logger, lists, failures, asked, watch };
}

const A = { name: "a.example.", port: 1 };
const B = { name: "B.example", port: 2 };

Deno.test("SrvWatch looks once when it is not to refresh", async () => {
  const { clock, lists, asked, watch } = setUp(0, [[A, B, A]]);
  watch.start();
  watch.start();
  await clock.advanceAsync(3_600_000);
  assertEquals(lists, ["a.example:1,b.example:2"]);
  assertEquals(asked, ["_memcache._tcp.example.com"]);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("SrvWatch tells of a list that changed, and of no other", async () => {
  const { clock, lists, asked, watch } = setUp(10_000, [[A], [A], [B, A], [
    A,
    B,
  ], [B]]);
  watch.start();
  await clock.advanceAsync(45_000);
  assertEquals(asked.length, 5);
  assertEquals(lists, [
    "a.example:1",
    "b.example:2,a.example:1",
    "b.example:2",
  ]);
  watch.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("SrvWatch keeps the list when a look fails, finds nothing or nonsense", async () => {
  const { clock, lists, failures, logger, watch } = setUp(10_000, [
    [A],
    new Error("SERVFAIL"),
    [],
    [{ name: "a b", port: 1 }],
    "silence",
    [A],
    [B],
  ]);
  watch.start();
  await clock.advanceAsync(70_000);
  assertEquals(lists, ["a.example:1", "b.example:2"]);
  assertEquals(failures.length, 4);
  assertStringIncludes(failures[0]!, "SERVFAIL");
  assertStringIncludes(failures[3]!, "no answer within 1000 ms");
  assertEquals(logger.messages, [
    "server list changed",
    "SRV lookup failed",
    "SRV lookup succeeds again",
    "server list changed",
  ]);
  watch.stop();
});

Deno.test("SrvWatch looks again soon while it has no list at all", async () => {
  const { clock, lists, failures, watch } = setUp(0, [
    new Error("ENOTFOUND"),
    new Error("ENOTFOUND"),
    [A],
  ]);
  watch.start();
  await clock.advanceAsync(500);
  assertEquals(lists, ["a.example:1"]);
  assertEquals(failures.length, 2);
  watch.stop();
});

Deno.test("SrvWatch.stop() leaves out what a look that runs still finds", async () => {
  const { clock, lists, watch } = setUp(10_000, [[A]]);
  watch.start();
  watch.stop();
  watch.stop();
  await clock.advanceAsync(60_000);
  assertEquals(lists, []);
  assertEquals(clock.pendingTimers, 0);
});
