import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { StoreOutages } from "../store_outages.ts";
import {
  AltcacheServers,
  parseAltcacheSource,
  Rendezvous,
} from "./altcache_servers.ts";

function named(count: number): { readonly name: string }[] {
  return Array.from(
    { length: count },
    (_, i) => ({ name: `10.0.0.${i}:11211` }),
  );
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `basic_key_${i}_1795219200`);
}

Deno.test("Rendezvous.choose() has no choice without candidates, and one with one", () => {
  assertEquals(new Rendezvous([]).choose("a"), undefined);
  assertEquals(new Rendezvous([{ name: "x" }]).choose("a"), { name: "x" });
});

Deno.test("Rendezvous.choose() does not depend on the order of the list", () => {
  const list = named(7);
  const there = new Rendezvous(list);
  const back = new Rendezvous([...list].reverse());
  for (const key of keys(2_000)) {
    assertEquals(there.choose(key)?.name, back.choose(key)?.name);
  }
});

Deno.test("Rendezvous.choose() gives every candidate about the same share", () => {
  for (const count of [2, 3, 5, 16]) {
    const all = keys(20_000);
    const shares = new Map<string, number>();
    const chosen = new Rendezvous(named(count));
    for (const key of all) {
      const { name } = chosen.choose(key)!;
      shares.set(name, (shares.get(name) ?? 0) + 1);
    }
    assertEquals(shares.size, count);
    const fair = all.length / count;
    for (const share of shares.values()) {
      assert(Math.abs(share - fair) < fair * 0.15, `${share} of ${fair}`);
    }
  }
});

Deno.test("Rendezvous.choose() moves about 1/n of the keys to a new candidate and no other", () => {
  for (const count of [2, 3, 9]) {
    const list = named(count);
    const before = new Rendezvous(list.slice(1));
    const after = new Rendezvous(list);
    const all = keys(20_000);
    let moved = 0;
    for (const key of all) {
      const now = after.choose(key)!.name;
      if (now === before.choose(key)!.name) continue;
      moved++;
      assertEquals(now, list[0]!.name);
    }
    const fair = all.length / count;
    assert(Math.abs(moved - fair) < fair * 0.15, `${moved} of ${fair}`);
  }
});

Deno.test("Rendezvous.choose() goes on choosing as it did", () => {
  const chosen = new Rendezvous(named(5));
  // If a later version chose differently, every limit would be granted a second
  // time.
  assertEquals(
    keys(8).map((key) => chosen.choose(key)!.name.slice(7, 8)).join(""),
    "00432344",
  );
});

Deno.test("parseAltcacheSource() takes a host list", () => {
  assertEquals(parseAltcacheSource({ hostPort: "a:1,b:2", srv: "" }), {
    kind: "parsed",
    source: {
      kind: "list",
      addresses: [{ host: "a", port: 1 }, { host: "b", port: 2 }],
    },
  });
});

Deno.test("parseAltcacheSource() takes an SRV record", () => {
  const srv = "_memcache._tcp.example.com";
  assertEquals(parseAltcacheSource({ srv }), {
    kind: "parsed",
    source: { kind: "srv", name: srv, refreshMs: 0 },
  });
  assertEquals(parseAltcacheSource({ srv, srvRefreshMs: 5_000 }), {
    kind: "parsed",
    source: { kind: "srv", name: srv, refreshMs: 5_000 },
  });
});

Deno.test("parseAltcacheSource() refuses both, none, and what is no list", () => {
  const both = parseAltcacheSource({ hostPort: "a:1", srv: "x" });
  assert(both.kind === "invalid");
  assertStringIncludes(both.reason, "give one of them");
  const none = parseAltcacheSource({ hostPort: "", srv: "" });
  assert(none.kind === "invalid");
  assertStringIncludes(none.reason, "neither");
  const wrong = parseAltcacheSource({ hostPort: "a:1,b" });
  assert(wrong.kind === "invalid");
  assertStringIncludes(wrong.reason, '"b"');
});

Deno.test("AltcacheServers.firstLook() lets calls wait for a second and a half, and later ones not at all", async () => {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const servers = new AltcacheServers({
    source: { kind: "srv", name: "_memcache._tcp.example.com", refreshMs: 0 },
    resolveSrv: () => new Promise(() => {}),
    label: "cache",
    timeoutMs: 60_000,
    clock,
    random: () => 0,
    outages: new StoreOutages({ name: "cache", clock, logger }),
    logger,
  });
  servers.start();
  let waited = 0;
  void servers.firstLook().then(() => waited++);
  await clock.advanceAsync(1_499);
  assertEquals(waited, 0);
  await clock.advanceAsync(1);
  assertEquals(waited, 1);
  await servers.firstLook();
  await clock.advanceAsync(58_500);
  assertEquals(logger.messages, ["cache is unavailable"]);
  servers.stop();
  assertEquals(clock.pendingTimers, 0);
});
