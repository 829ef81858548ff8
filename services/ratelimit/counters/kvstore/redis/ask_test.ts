import { assert, assertEquals } from "@std/assert";
import { askRedis } from "./ask.ts";
import {
  errorReply,
  FakeRedisClient,
  ManualClock,
  settle,
} from "./testing/fake_redis.ts";

interface Subject {
  readonly asked: ReturnType<typeof askRedis>;
  readonly client: FakeRedisClient;
  readonly clock: ManualClock;
}

function ask(signal?: AbortSignal): Subject {
  const clock = new ManualClock();
  let client: FakeRedisClient | undefined;
  const asked = askRedis({
    address: { kind: "tcp", host: "host", port: 1 },
    auth: { password: "s3cret" },
    timeoutMs: 1_000,
    clock,
    ...(signal === undefined ? {} : { signal }),
    openClient: (options) => client = new FakeRedisClient(options),
  }, [["A"], ["B"]]);
  assert(client !== undefined);
  return { asked, client, clock };
}

Deno.test("askRedis() gives replies and refusals and hangs up", async () => {
  const { asked, client, clock } = ask();
  client.dial.resolve();
  await settle();
  client.sent[1]!.reject(errorReply("NOPERM s3cret"));
  client.sent[0]!.resolve(["a", 1]);
  assertEquals(await asked, {
    kind: "replied",
    replies: [["a", 1], { refusal: "NOPERM ***" }],
  });
  assert(client.destroyed > 0);
  assertEquals(clock.timers, 0);
});

Deno.test("askRedis() gives up in time, whatever hangs", async () => {
  for (const isDialled of [false, true]) {
    const { asked, client, clock } = ask();
    if (isDialled) client.dial.resolve();
    await clock.advance(1_000);
    assertEquals(await asked, {
      kind: "unavailable",
      reason: "no answer within 1000 ms",
    });
    assert(client.destroyed > 0);
  }
});

Deno.test("askRedis() tells why it failed, without secrets", async () => {
  const { asked, client, clock } = ask();
  client.dial.reject(new Error("no s3cret"));
  assertEquals(await asked, { kind: "unavailable", reason: "no ***" });
  assertEquals(clock.timers, 0);
});

Deno.test("askRedis() hangs up at once when told to", async () => {
  const aborter = new AbortController();
  const { asked, client, clock } = ask(aborter.signal);
  aborter.abort();
  assert(client.destroyed > 0);
  assertEquals(await asked, { kind: "unavailable", reason: "stopped" });
  assertEquals(clock.timers, 0);
  const { asked: late } = ask(AbortSignal.abort());
  assertEquals(await late, { kind: "unavailable", reason: "stopped" });
});

Deno.test("askRedis() hangs up a dial that succeeds after it gave up", async () => {
  const { asked, client, clock } = ask();
  const { dial } = client;
  client.destroy = () => {
    client.destroyed++;
  };
  await clock.advance(1_000);
  await asked;
  const before = client.destroyed;
  dial.resolve();
  await settle();
  for (const { resolve } of client.sent) resolve(1);
  await settle();
  assert(client.destroyed > before);
});
