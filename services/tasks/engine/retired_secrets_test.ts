import { assert, assertEquals } from "@std/assert";
import { keyNamed } from "../secrets/testing/keys.ts";
import type { RetiredSecrets, SecretRecord } from "./repositories.ts";
import {
  expiring,
  liveValues,
  MAX_RETIRED,
  RETIRED_MS,
  retiring,
} from "./retired_secrets.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";
import { sealedRecord } from "./testing/test_push.ts";

const KEY = keyNamed("key");

async function retire(
  { parts }: TestEngine,
  { secrets, nowMs }: {
    readonly secrets: readonly SecretRecord[];
    readonly nowMs: number;
  },
): Promise<void> {
  const writes = await retiring(secrets, {
    repositories: parts.repositories,
    nowMs,
  });
  const [result] = await parts.store.commit([{ writes }]);
  assertEquals(result?.kind, "ok");
}

async function retiredOf(
  { parts }: TestEngine,
  workerId: string,
): Promise<RetiredSecrets> {
  const retired = await parts.repositories.retiredSecrets.get(
    TENANT_ID,
    workerId,
  );
  assert(retired !== undefined);
  return retired;
}

Deno.test("retiring() keeps values for a day, and drops those whose day is over", async () => {
  const world = await openTestEngine();
  const worker = await world.worker();
  const record = (name: string, version: number): SecretRecord =>
    sealedRecord(worker, { name, value: "some value", key: KEY, version });
  await retire(world, { secrets: [record("A", 1)], nowMs: 0 });
  await retire(world, { secrets: [record("A", 2)], nowMs: 1_000 });
  const both = await retiredOf(world, worker.id);
  const told = (nowMs: number): unknown =>
    liveValues(both, nowMs).map(({ name, version }) => `${name}${version}`);
  assertEquals(told(RETIRED_MS - 1), ["A1", "A2"]);
  assertEquals(told(RETIRED_MS), ["A2"]);
  assertEquals(told(RETIRED_MS + 1_000), []);
  await retire(world, { secrets: [record("B", 1)], nowMs: RETIRED_MS });
  const { values } = await retiredOf(world, worker.id);
  assertEquals(values.map(({ name }) => name), ["A", "B"]);
});

Deno.test("retiring() keeps a bounded number of values, the newest", async () => {
  const world = await openTestEngine();
  const worker = await world.worker();
  const secrets = Array.from(
    { length: MAX_RETIRED + 5 },
    (_, index) =>
      sealedRecord(worker, {
        name: `N${index}`,
        value: "some value",
        key: KEY,
      }),
  );
  await retire(world, { secrets, nowMs: 0 });
  const { values } = await retiredOf(world, worker.id);
  assertEquals(values.length, MAX_RETIRED);
  assertEquals(values.at(-1)?.name, `N${MAX_RETIRED + 4}`);
});

Deno.test("retiring() writes nothing when nothing is replaced", async () => {
  const { parts: { repositories } } = await openTestEngine();
  assertEquals(await retiring([], { repositories, nowMs: 0 }), []);
});

Deno.test("expiring() removes what is over, and leaves the rest", async () => {
  const world = await openTestEngine();
  const { repositories, store } = world.parts;
  const worker = await world.worker();
  for (const [version, nowMs] of [[1, 0], [2, 1_000]] as const) {
    const value = "some value";
    const secret = sealedRecord(worker, {
      name: "A",
      value,
      key: KEY,
      version,
    });
    await retire(world, { secrets: [secret], nowMs });
  }
  const both = await retiredOf(world, worker.id);
  assertEquals(
    expiring(both, { repositories, nowMs: RETIRED_MS - 1 }),
    undefined,
  );
  const first = expiring(both, { repositories, nowMs: RETIRED_MS });
  assert(first !== undefined);
  await store.commit([{ writes: [first] }]);
  const left = await retiredOf(world, worker.id);
  assertEquals(left.values.map(({ version }) => version), [2]);
  const last = expiring(left, { repositories, nowMs: RETIRED_MS + 1_000 });
  assert(last !== undefined);
  await store.commit([{ writes: [last] }]);
  assertEquals(
    await repositories.retiredSecrets.get(TENANT_ID, worker.id),
    undefined,
  );
});
