import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SrvResolver } from "../../services/ratelimit/counters/altcache/memcached/srv_watch.ts";
import {
  type MemcachedServer,
  startMemcachedServer,
} from "../support/memcached_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { batchOfKeys, createBatch, readCounts } from "./batches.ts";
import { type AltcacheSubject, startStore } from "./altcache_subject.ts";

const NAME = "_memcache._tcp.example.com";
const KEYS = Array.from({ length: 100 }, (_, i) => `k${i}_`);

/** A resolver whose answer is set by a test. */
class FakeDns {
  /** The servers in the answer; with an empty list the lookup fails. */
  servers: readonly MemcachedServer[] = [];
  /** Number of lookups. */
  asked = 0;

  readonly resolve: SrvResolver = (name) => {
    assertEquals(name, NAME);
    this.asked++;
    if (this.servers.length === 0) return Promise.reject(new Error("SERVFAIL"));
    return Promise.resolve(
      this.servers.map(({ host, port }) => ({ name: host, port })),
    );
  };
}

function openStore(dns: FakeDns, refreshMs: number): Promise<AltcacheSubject> {
  return startStore({
    source: { kind: "srv", name: NAME, refreshMs },
    resolveSrv: dns.resolve,
    timeoutMs: 1_000,
    healthNeedsConnection: true,
  });
}

function srvTest(name: string, fn: () => Promise<void>): void {
  serviceTest(["memcached"], { name, fn });
}

srvTest(
  "AltcacheStore counts on the servers of an SRV record from the first call on",
  async () => {
    const dns = new FakeDns();
    dns.servers = [await startMemcachedServer(), await startMemcachedServer()];
    const { store } = await openStore(dns, 0);
    assertEquals(
      readCounts(await store.apply(batchOfKeys(KEYS))),
      KEYS.map(() => 1),
    );
    assertEquals(store.isHealthy(), true);
    assertEquals(store.connections, 2);
    assertEquals(dns.asked, 1);
    await store.stop();
    for (const server of dns.servers) await server.stop();
  },
);

srvTest(
  "AltcacheStore is unavailable until an SRV record can be looked up",
  async () => {
    const dns = new FakeDns();
    const server = await startMemcachedServer();
    const { store } = await openStore(dns, 0);
    const answer = await store.apply(createBatch("a_"));
    assert(answer.kind === "unavailable");
    assertStringIncludes(answer.reason, NAME);
    assertStringIncludes(answer.reason, "SERVFAIL");
    assertEquals(store.isHealthy(), false);
    dns.servers = [server];
    await waitUntil(
      async () => (await store.apply(createBatch("a_"))).kind === "counted",
      { what: "the record to be found" },
    );
    await store.stop();
    await server.stop();
  },
);

srvTest(
  "AltcacheStore follows a changed SRV record and keeps most counters",
  async () => {
    const servers = [
      await startMemcachedServer(),
      await startMemcachedServer(),
      await startMemcachedServer(),
    ];
    const dns = new FakeDns();
    dns.servers = servers.slice(0, 2);
    const { store, lost } = await openStore(dns, 20);
    assertEquals(
      readCounts(await store.apply(batchOfKeys(KEYS))),
      KEYS.map(() => 1),
    );
    dns.servers = servers;
    await waitUntil(() => store.connections === 3, {
      what: "the third server",
    });
    const counts = readCounts(await store.apply(batchOfKeys(KEYS)));
    const moved = counts.filter((count) => count === 1).length;
    assert(moved > 10 && moved < 60, `${moved} of ${KEYS.length} moved`);
    assertEquals(
      counts.filter((count) => count === 2).length,
      KEYS.length - moved,
    );

    // A failing lookup does not change the servers.
    dns.servers = [];
    const { asked } = dns;
    await waitUntil(() => dns.asked > asked + 2, { what: "failing lookups" });
    assertEquals(store.connections, 3);

    // The connection to a removed server is closed once its commands have had
    // time to finish.
    dns.servers = servers.slice(0, 2);
    await waitUntil(() => store.connections === 2, { what: "two servers" });
    assertEquals((await store.apply(batchOfKeys(KEYS))).kind, "counted");
    await waitUntil(() => store.pendingIncrements === 0, { what: "the end" });
    await waitUntil(
      async () => await servers[2]!.stat("curr_connections") <= 2,
      { what: "the third server to be let go of", intervalMs: 50 },
    );
    assertEquals(lost, []);
    await store.stop();
    for (const server of servers) await server.stop();
  },
);
