import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { formatRedisAddress } from "./address.ts";
import { askRedis, findMaster, type MasterOutcome } from "./ask.ts";
import type { RedisClientOptions } from "./client.ts";
import {
  errorReply,
  FakeRedisClient,
  FakeServers,
  settle,
} from "./testing/fake_redis.ts";

interface Subject {
  readonly asked: ReturnType<typeof askRedis>;
  readonly client: FakeRedisClient;
  readonly clock: FakeClock;
}

function ask(signal?: AbortSignal): Subject {
  const clock = new FakeClock();
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
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("askRedis() gives up in time, whatever hangs", async () => {
  for (const isDialled of [false, true]) {
    const { asked, client, clock } = ask();
    if (isDialled) client.dial.resolve();
    await clock.advanceAsync(1_000);
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
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("askRedis() hangs up at once when told to", async () => {
  const aborter = new AbortController();
  const { asked, client, clock } = ask(aborter.signal);
  aborter.abort();
  assert(client.destroyed > 0);
  assertEquals(await asked, { kind: "unavailable", reason: "stopped" });
  assertEquals(clock.pendingTimers, 0);
  const { asked: late } = ask(AbortSignal.abort());
  assertEquals(await late, { kind: "unavailable", reason: "stopped" });
});

Deno.test("askRedis() hangs up a dial that succeeds after it gave up", async () => {
  const { asked, client, clock } = ask();
  const { dial } = client;
  client.destroy = () => {
    client.destroyed++;
  };
  await clock.advanceAsync(1_000);
  await asked;
  const before = client.destroyed;
  dial.resolve();
  await settle();
  for (const { resolve } of client.sent) resolve(1);
  await settle();
  assert(client.destroyed > before);
});

interface Found {
  readonly outcome: MasterOutcome;
  /** The dials, in order. */
  readonly dials: readonly RedisClientOptions[];
}

async function find(
  named: readonly unknown[],
  options: { readonly proven?: string; readonly down?: string } = {},
): Promise<Found> {
  const { proven, down } = options;
  const servers = new FakeServers();
  if (down !== undefined) servers.down.add(down);
  servers.answer = (place, [verb]) =>
    verb === "SENTINEL" ? named[Number(place.split(":")[1]) - 1] : undefined;
  const dials: RedisClientOptions[] = [];
  const outcome = await findMaster({
    masterName: "mine",
    sentinels: named.map((_, i) => ({ kind: "tcp", host: "s", port: i + 1 })),
    sentinelAuth: { username: "watcher", password: "for sentinels" },
    auth: { password: "for the master" },
    tls: { caPem: "ca" },
    ...(proven === undefined ? {} : { proven }),
    timeoutMs: 500,
    clock: new FakeClock(),
    openClient: (dial) => {
      dials.push(dial);
      return servers.open(dial);
    },
  });
  return { outcome, dials };
}

Deno.test("findMaster() signs in and encrypts at sentinel and master, each with its own", async () => {
  const { outcome, dials } = await find([["10.0.0.1", "6379"]]);
  assertEquals(outcome, {
    kind: "found",
    master: { kind: "tcp", host: "10.0.0.1", port: 6_379 },
    sentinel: { kind: "tcp", host: "s", port: 1 },
  });
  assertEquals(
    dials.map(({ address, auth, tls }) => [
      formatRedisAddress(address),
      auth,
      tls,
    ]),
    [
      ["s:1", { username: "watcher", password: "for sentinels" }, {
        caPem: "ca",
      }],
      ["10.0.0.1:6379", { password: "for the master" }, { caPem: "ca" }],
    ],
  );
});

Deno.test("findMaster() need not ask a master that is in use", async () => {
  const { outcome, dials } = await find([["m", "1"]], { proven: "m:1" });
  assertEquals(outcome.kind, "found");
  assertEquals(dials.length, 1);
});

Deno.test("findMaster() asks a server once, though several sentinels name it", async () => {
  const named = [["m", "1"], ["m", "1"], ["m", "1"]];
  const { outcome, dials } = await find(named, { down: "m:1" });
  assertEquals(outcome, {
    kind: "none",
    reason: 'master "m:1" of sentinel "s:1": refused',
  });
  assertEquals(dials.length, 4);
});

Deno.test("findMaster() passes over replies that are no address", async () => {
  for (const reply of [null, "m:1", [], ["m"], ["", "1"], ["m", "0"], [5, 1]]) {
    const { outcome } = await find([reply, ["m", "1"]]);
    assertEquals(outcome.kind, "found");
    assertEquals((await find([reply])).outcome, {
      kind: "none",
      reason: 'sentinel "s:1": it knows no master "mine"',
    });
  }
});
