import { assertEquals } from "@std/assert";
import type { Tenant } from "../domain/records.ts";
import { keyNamed } from "../secrets/testing/keys.ts";
import { retiring } from "./vault.ts";
import { SecretsWorker } from "./secrets_worker.ts";
import type { TenantKeys } from "./tenant_keys.ts";
import { openTestEngine, type TestEngine } from "./testing/test_engine.ts";
import { sealedRecord } from "./testing/test_push.ts";

type TenantKeyState = Awaited<ReturnType<TenantKeys["checkState"]>>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const COUNT = 250;

interface World extends TestEngine {
  readonly rounds: SecretsWorker;
  /** The states of keys that cannot be decrypted, by the tenant's id. */
  readonly states: Map<string, TenantKeyState>;
}

/** Opens a store with more tenants than one page holds. */
async function open(): Promise<World> {
  const world = await openTestEngine();
  const { repositories, store } = world.parts;
  for (let index = 0; index < COUNT; index++) {
    const tenant: Tenant = {
      id: `ten_${index}`,
      version: 1,
      domain: `t${index}`,
      status: "active",
      plan: "test",
      timezone: "UTC",
      createdAtMs: 0,
      updatedAtMs: 0,
    };
    await store.commit([{ writes: [repositories.tenants.insert(tenant)] }]);
  }
  const states = new Map<string, TenantKeyState>();
  const rounds = new SecretsWorker({
    parts: world.parts,
    keys: {
      checkState: (id) => Promise.resolve(states.get(id) ?? { kind: "fine" }),
    },
  });
  return { ...world, rounds, states };
}

Deno.test("SecretsWorker tells of keys that do not open, and when they do again", async () => {
  const { rounds, states, clock, logger } = await open();
  const told = (): readonly string[] =>
    logger.lines.splice(0).map(({ level, message }) => `${level} ${message}`);
  for (const id of ["ten_0", "ten_99", `ten_${COUNT - 1}`]) {
    states.set(id, { kind: "unopened", masterKeyId: "k0" });
  }
  rounds.start();
  await clock.advance(1_000);
  assertEquals(rounds.unopenedTenants, 3);
  const [line] = logger.lines;
  assertEquals(line?.level, "warning");
  assertEquals(line?.fields, { tenants: 3, master_keys: "k0" });
  assertEquals(told().length, 1);
  await clock.advance(HOUR_MS);
  assertEquals(told(), []);
  states.clear();
  await clock.advance(61_000);
  assertEquals(rounds.unopenedTenants, 0);
  assertEquals(told(), ["info The keys of all tenants open again"]);
  await rounds.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("SecretsWorker removes replaced secrets when their day is over", async () => {
  const { rounds, clock, parts, worker } = await open();
  const { repositories, store } = parts;
  const tenantId = `ten_${COUNT - 1}`;
  const mailer = await worker({ tenantId });
  const secret = sealedRecord(mailer, {
    name: "A",
    value: "some value",
    key: keyNamed("key"),
  });
  const nowMs = clock.nowMs();
  const writes = await retiring([secret], { repositories, nowMs });
  await store.commit([{ writes }]);
  rounds.start();
  await clock.advance(DAY_MS);
  assertEquals((await repositories.retiredSecrets.all(tenantId)).length, 1);
  await clock.advance(HOUR_MS + 1_000);
  assertEquals(await repositories.retiredSecrets.all(tenantId), []);
  await rounds.stop();
});

Deno.test("SecretsWorker.stop() waits for no pause", async () => {
  const { rounds, clock } = await open();
  rounds.start();
  await clock.advance(0);
  await rounds.stop();
  assertEquals(clock.pendingTimers, 0);
  assertEquals(rounds.unopenedTenants, 0);
});
