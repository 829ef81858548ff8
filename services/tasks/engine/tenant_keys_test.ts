import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import type { SealingKey } from "../secrets/master_keys.ts";
import {
  createTenantKey,
  CURRENT_KEY_ID,
  type WrappedKey,
} from "../secrets/tenant_key.ts";
import { createRing, flipBit } from "../secrets/testing/keys.ts";
import { MAX_RECORD_AGE_MS } from "./record_cache.ts";
import { SecretsError, TenantKeys } from "./tenant_keys.ts";
import { openTestEngine } from "./testing/test_engine.ts";

interface World {
  readonly keys: TenantKeys;
  /** Creates keys of tenants and stores them. */
  add(...tenantIds: readonly string[]): Promise<void>;
  /** Replaces the stored text of a tenant's key. */
  replace(tenantId: string, wrapped: string): Promise<void>;
  /** Creates a new key of a tenant without storing it. */
  made(tenantId: string): ReturnType<typeof createTenantKey>;
  /** The key to seal with for a tenant. */
  current(tenantId: string): Promise<SealingKey>;
}

async function open(): Promise<World> {
  const { parts: { store, repositories } } = await openTestEngine();
  const { dataKeys } = repositories;
  const masterKeys = createRing("m1");
  const keys = new TenantKeys({ repositories, masterKeys });
  const made: World["made"] = (tenantId) =>
    createTenantKey({ tenantId, masterKeys });
  return {
    keys,
    made,
    async add(...tenantIds) {
      const writes = tenantIds.map((tenantId) =>
        dataKeys.insert({
          tenantId,
          id: CURRENT_KEY_ID,
          version: 1,
          wrapped: made(tenantId).wrapped,
        })
      );
      const [result] = await store.commit([{ writes }]);
      assertEquals(result?.kind, "ok");
    },
    async replace(tenantId, wrapped) {
      const [previous] = await dataKeys.all(tenantId);
      const next: WrappedKey = {
        tenantId,
        id: CURRENT_KEY_ID,
        version: (previous?.version ?? 0) + 1,
        wrapped,
      };
      const write = previous === undefined
        ? dataKeys.insert(next)
        : dataKeys.update(previous, next);
      const [result] = await store.commit([{ writes: [write] }]);
      assertEquals(result?.kind, "ok");
    },
    async current(tenantId) {
      return (await keys.ticket(tenantId)).key;
    },
  };
}

Deno.test("TenantKeys unwraps a key once, and again when it was told to forget it", async () => {
  const { keys, add, current } = await open();
  await add("a");
  const first = await current("a");
  assertStrictEquals(await current("a"), first);
  keys.forget("a");
  keys.forget("a");
  const again = await current("a");
  assertEquals([again === first, again.id === first.id], [false, true]);
});

Deno.test("TenantKeys follows the stored text", async () => {
  const { keys, made, replace, current } = await open();
  const first = made("a");
  const second = made("a");
  await replace("a", first.wrapped);
  assertEquals((await current("a")).id, first.key.id);
  await replace("a", second.wrapped);
  assertEquals((await current("a")).id, second.key.id);
  await replace("a", flipBit(second.wrapped, 200));
  await assertRejects(() => keys.ticket("a"), SecretsError);
  assertEquals((await keys.checkState("a")).kind, "unopened");
  assertEquals((await keys.findKeys("a", [])).size, 0);
});

Deno.test("TenantKeys follows a command that changes the database beside the service", async () => {
  const { parts: { repositories }, store, clock } = await openTestEngine();
  const masterKeys = createRing("m1");
  const keys = new TenantKeys({ repositories, masterKeys });
  const make = () => createTenantKey({ tenantId: "t", masterKeys });
  const [first, next] = [make(), make()];
  const { dataKeys } = repositories;
  const record = (wrapped: string, version: number): WrappedKey => ({
    tenantId: "t",
    id: CURRENT_KEY_ID,
    version,
    wrapped,
  });
  // The command writes past the cache, and tells nobody.
  const old = record(first.wrapped, 1);
  await store.commit([{ writes: [dataKeys.insert(old)] }]);
  assertEquals((await keys.ticket("t")).key.id, first.key.id);
  const write = dataKeys.update(old, record(next.wrapped, 2));
  await store.commit([{ writes: [write] }]);
  await clock.advance(MAX_RECORD_AGE_MS);
  assertEquals((await keys.ticket("t")).key.id, next.key.id);
});

Deno.test("TenantKeys gives no tenant the key of another", async () => {
  const { keys, made, replace, current } = await open();
  const { key, wrapped } = made("a");
  await replace("a", wrapped);
  assertEquals((await current("a")).id, key.id);
  await replace("b", wrapped);
  await assertRejects(() => keys.ticket("b"), SecretsError);
});

Deno.test("TenantKeys holds the keys used last and no more than a thousand", async () => {
  const { add, current } = await open();
  const ids = Array.from({ length: 1_001 }, (_, index) => `t${index}`);
  await add(...ids);
  const [kept = "", unused = "", ...others] = ids;
  const first = await current(kept);
  const second = await current(unused);
  for (const id of others.slice(0, -1)) await current(id);
  assertStrictEquals(await current(kept), first);
  assertStrictEquals(await current(unused), second);
  assertStrictEquals(await current(kept), first);
  // This is one more than fits, so the key unused for longest is evicted.
  for (const id of others.slice(0, -1)) await current(id);
  await current(kept);
  await current(ids.at(-1) ?? "");
  assertStrictEquals(await current(kept), first);
  assertEquals(await current(unused) === second, false);
});
