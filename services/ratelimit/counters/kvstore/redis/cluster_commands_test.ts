import { assertEquals } from "@std/assert";
import type { RedisAddress } from "./address.ts";
import { Pauses, readRedirect } from "./cluster_commands.ts";
import { ManualClock } from "./testing/fake_redis.ts";

const asked: RedisAddress = { kind: "tcp", host: "asked", port: 1 };

Deno.test("readRedirect() reads where a slot has gone", () => {
  const reason = "MOVED 3999 127.0.0.1:6381";
  assertEquals(readRedirect({ refusal: reason }, asked), {
    kind: "moved",
    slot: 3_999,
    address: { kind: "tcp", host: "127.0.0.1", port: 6_381 },
    reason,
  });
});

Deno.test("readRedirect() reads whom to ask this time", () => {
  const reason = "ASK 3999 ::1:6381";
  assertEquals(readRedirect({ refusal: reason }, asked), {
    kind: "ask",
    address: { kind: "tcp", host: "::1", port: 6_381 },
    reason,
  });
});

Deno.test("readRedirect() fills in the host of the node that replied", () => {
  const redirect = readRedirect({ refusal: "MOVED 1 :6381" }, asked);
  assertEquals(redirect?.kind === "moved" && redirect.address, {
    kind: "tcp",
    host: "asked",
    port: 6_381,
  });
});

for (
  const reason of [
    "CLUSTERDOWN Hash slot not served",
    "CLUSTERDOWN The cluster is down",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down",
    "MOVED 1 ?:6381",
    "ASK 1 host:0",
  ]
) {
  Deno.test(`readRedirect() puts off "${reason}"`, () => {
    assertEquals(readRedirect({ refusal: reason }, asked), {
      kind: "later",
      reason,
    });
  });
}

Deno.test("readRedirect() leaves other replies alone", () => {
  for (
    const reply of [
      1,
      null,
      "MOVED 1 host:1",
      { refusal: "ERR MOVED 1 host:1" },
      { refusal: "CROSSSLOT Keys in request don't hash to the same slot" },
      { refusal: "NOSCRIPT No matching script" },
    ]
  ) {
    assertEquals(readRedirect(reply, asked), undefined);
  }
});

Deno.test("Pauses.pause() resolves when its time is over, or at the end", async () => {
  const clock = new ManualClock();
  const pauses = new Pauses(clock);
  const over: number[] = [];
  for (const ms of [10, 20, 30]) pauses.pause(ms).then(() => over.push(ms));
  await clock.advance(10);
  assertEquals(over, [10]);
  pauses.end();
  await clock.advance(0);
  assertEquals(over, [10, 20, 30]);
  await pauses.pause(1_000);
  assertEquals(clock.timers, 0);
});
