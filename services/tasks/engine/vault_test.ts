import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { newSigningKey } from "../delivery/webhook_signature.ts";
import type { SigningSecret, WorkerDefinition } from "../domain/records.ts";
import { MasterKeys } from "../secrets/master_keys.ts";
import { planRewrap } from "../secrets/tenant_key.ts";
import { MAX_SECRETS_PER_WORKER } from "../secrets/secret_rules.ts";
import { createRing, flipBit, keyNamed } from "../secrets/testing/keys.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { MAX_RECORD_AGE_MS } from "./record_cache.ts";
import type { RetiredSecrets, SecretRecord } from "./repositories.ts";
import { expiring, retiring, Vault } from "./vault.ts";
import { SecretsError } from "./tenant_keys.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";
import { sealedRecord } from "./testing/test_push.ts";

/**
 * How long a retired value is kept, in milliseconds: a day, and a minute for an
 * attempt that begins just then.
 */
const RETIRED_MS = 86_460_000;

interface World extends TestEngine {
  readonly vault: Vault;
  readonly masterKeys: MasterKeys;
  readonly mailer: WorkerDefinition;
}

async function open(masterKeys: MasterKeys): Promise<World> {
  const world = await openTestEngine();
  const vault = new Vault({
    repositories: world.parts.repositories,
    clock: world.clock,
    masterKeys,
  });
  return { ...world, vault, masterKeys, mailer: await world.worker() };
}

/** Adds a secret, or replaces one that was removed. */
async function add(
  { vault, parts, mailer }: World,
  name: string,
  value: string,
): Promise<void> {
  const { key, writes } = await vault.keys.ticket(TENANT_ID);
  const record = sealedRecord(mailer, { name, value, key });
  const write = parts.repositories.secrets.insert(record);
  const [result] = await parts.store.commit([{ writes: [...writes, write] }]);
  assertEquals(result?.kind, "ok");
}

async function values({ vault, mailer }: World): Promise<unknown> {
  const { values } = await vault.open(TENANT_ID, mailer.id);
  return Object.fromEntries(values);
}

Deno.test("Vault.open() opens the secrets of a worker, as they are now", async () => {
  const world = await open(createRing("k1"));
  assertEquals(await values(world), {});
  await add(world, "A", "first value");
  await add(world, "B", "another value");
  assertEquals(await values(world), { A: "first value", B: "another value" });
  const { secrets } = world.parts.repositories;
  const record = await secrets.get(TENANT_ID, `${world.mailer.id}:A`);
  assert(record !== undefined);
  const { key } = await world.vault.keys.ticket(TENANT_ID);
  const next = {
    ...sealedRecord(world.mailer, {
      name: "A",
      value: "second value",
      key,
      version: 2,
    }),
    createdAtMs: 0,
  };
  await world.parts.store.commit([{
    writes: [secrets.update(record, next)],
  }]);
  assertEquals(await values(world), { A: "second value", B: "another value" });
});

Deno.test("Vault.open() does not give a value that was removed and set anew", async () => {
  const world = await open(createRing("k1"));
  await add(world, "A", "leaked value");
  assertEquals(await values(world), { A: "leaked value" });
  const { secrets } = world.parts.repositories;
  const record = await secrets.get(TENANT_ID, `${world.mailer.id}:A`);
  assert(record !== undefined);
  await world.parts.store.commit([{ writes: [secrets.remove(record)] }]);
  await add(world, "A", "fresh value");
  assertEquals(await values(world), { A: "fresh value" });
  const { scrubber } = await world.vault.open(TENANT_ID, world.mailer.id);
  assertEquals(scrubber?.scrubText("x fresh value x").includes("fresh"), false);
});

Deno.test("Vault.open() follows another instance, and keeps what has not changed", async () => {
  for (const isLost of [false, true]) {
    const masterKeys = createRing("k1");
    const { clock, ...world } = await open(masterKeys);
    await add({ ...world, clock }, "A", "first value");
    const other = await openTestEngine({
      clock,
      store: createMemoryStore({ clock, besides: world.store }),
      wrap: (store) => isLost ? { ...store, onNotice: () => () => {} } : store,
    });
    const vault = new Vault({
      repositories: other.parts.repositories,
      clock,
      masterKeys,
    });
    const ask = () => vault.open(TENANT_ID, world.mailer.id);
    const first = await ask();
    assertEquals(Object.fromEntries(first.values), { A: "first value" });
    await clock.advance(MAX_RECORD_AGE_MS);
    assertStrictEquals(await ask(), first);
    await add({ ...world, clock }, "B", "another value");
    if (isLost) {
      await clock.advance(MAX_RECORD_AGE_MS - 1);
      assertStrictEquals(await ask(), first);
      await clock.advance(1);
    }
    assertEquals(Object.fromEntries((await ask()).values), {
      A: "first value",
      B: "another value",
    });
  }
});

Deno.test("Vault opens what an earlier master key wrapped, and nothing without it", async () => {
  const ring = createRing("k2", "k1");
  const world = await open(ring);
  await add(world, "A", "some value");
  const stranger = new Vault({
    repositories: world.parts.repositories,
    clock: world.clock,
    masterKeys: createRing("k2"),
  });
  await assertRejects(() => stranger.open(TENANT_ID, world.mailer.id));
  await assertRejects(() => stranger.keys.ticket(TENANT_ID));
  const none = new Vault({
    repositories: world.parts.repositories,
    clock: world.clock,
  });
  assertEquals([none.isAvailable, world.vault.isAvailable], [false, true]);
  await assertRejects(
    () => none.keys.ticket(TENANT_ID),
    SecretsError,
    "master key",
  );
});

Deno.test("Vault opens nothing that was tampered with or moved to another row", async () => {
  const world = await open(createRing("k1"));
  const { key, writes } = await world.vault.keys.ticket(TENANT_ID);
  const good = sealedRecord(world.mailer, { name: "A", value: "a value", key });
  const other = { ...good, id: `${world.mailer.id}:B`, name: "B" };
  const { secrets } = world.parts.repositories;
  await world.parts.store.commit([{
    writes: [...writes, secrets.insert(other)],
  }]);
  await assertRejects(() => world.vault.open(TENANT_ID, world.mailer.id));
  const flipped = { ...good, sealed: flipBit(good.sealed, 200) };
  await world.parts.store.commit([{
    writes: [secrets.remove(other), secrets.insert(flipped)],
  }]);
  await assertRejects(() => world.vault.open(TENANT_ID, world.mailer.id));
});

Deno.test("Vault.signing() gives the secrets in force, the new one first", async () => {
  const world = await open(createRing("k1"));
  const { key, writes } = await world.vault.keys.ticket(TENANT_ID);
  await world.parts.store.commit([{ writes }]);
  const made = [2, 1].map((number) =>
    world.vault.newSigning(world.mailer, { key, number })
  );
  const [current, old] = made;
  assert(current !== undefined && old !== undefined);
  const expiresAtMs = world.clock.nowMs() + 1_000;
  const signing = [current.stored, { ...old.stored, expiresAtMs }];
  const texts = (): Promise<readonly string[]> =>
    world.vault.signing({ ...world.mailer, signing });
  assertEquals(await texts(), [current.text, old.text]);
  await world.clock.advance(999);
  assertEquals(await texts(), [current.text, old.text]);
  await world.clock.advance(1);
  assertEquals(await texts(), [current.text]);
  const swapped: SigningSecret[] = [{ ...current.stored, number: 1 }];
  await assertRejects(() =>
    world.vault.signing({ ...world.mailer, signing: swapped })
  );
});

Deno.test("Vault.signing() gives a key pair beside the secrets", async () => {
  const world = await open(createRing("k1"));
  const { key, writes } = await world.vault.keys.ticket(TENANT_ID);
  await world.parts.store.commit([{ writes }]);
  const text = newSigningKey();
  const { stored, text: secret } = world.vault.newSigning(world.mailer, {
    key,
    number: 1,
  });
  const sealed = world.vault.sealKeyPair(world.mailer, { key, text });
  const worker = {
    ...world.mailer,
    signing: [stored],
    asymmetric: { sealed, publicKey: "whpk_x" },
  };
  assertEquals(await world.vault.signing(worker), [secret, text]);
  assertEquals(await world.vault.signing(world.mailer), []);
});

Deno.test("Vault refuses to go without secrets that are there when no master key is", async () => {
  const world = await open(createRing("k1"));
  await add(world, "A", "some value");
  const { key } = await world.vault.keys.ticket(TENANT_ID);
  const { stored } = world.vault.newSigning(world.mailer, { key, number: 1 });
  const none = new Vault({
    repositories: world.parts.repositories,
    clock: world.clock,
  });
  await assertRejects(
    () => none.open(TENANT_ID, world.mailer.id),
    SecretsError,
  );
  await assertRejects(
    () => none.signing({ ...world.mailer, signing: [stored] }),
    SecretsError,
  );
  const pair = { sealed: stored.sealed, publicKey: "whpk_x" };
  await assertRejects(
    () => none.signing({ ...world.mailer, asymmetric: pair }),
    SecretsError,
  );
  // A worker without secrets can be called as before.
  const other = await world.worker({ name: "other" });
  assertEquals(await none.signing(other), []);
  assertEquals((await none.open(TENANT_ID, other.id)).values.size, 0);
});

/** Replaces a tenant's lost key, as the command does while the service runs. */
async function replaceLost(
  { store }: TestEngine,
  masterKeys: MasterKeys,
): Promise<void> {
  const record = await store.record("data_key", TENANT_ID, "data");
  assert(record !== undefined);
  const step = planRewrap(JSON.parse(record.text), {
    masterKeys,
    replacesLost: true,
  });
  assert(step.kind === "replaced");
  await store.commit([{
    writes: [step.next, step.kept].map((next, index) => ({
      kind: "record",
      recordKind: "data_key",
      tenantId: TENANT_ID,
      id: next.id,
      expectedVersion: index === 0 ? record.version : 0,
      next: {
        kind: "data_key",
        tenantId: TENANT_ID,
        id: next.id,
        version: next.version,
        text: JSON.stringify(next),
      },
    })),
  }]);
}

Deno.test("Vault seals by a key that replaced a lost one, and opens the old secrets when that is back", async () => {
  const before = createRing("k1");
  const world = await open(before);
  await add(world, "A", "some value");
  const { key } = await world.vault.keys.ticket(TENANT_ID);
  const old = world.vault.newSigning(world.mailer, { key, number: 1 });
  const ring = createRing("k2");
  const { repositories } = world.parts;
  const { clock } = world;
  const vault = new Vault({ repositories, clock, masterKeys: ring });
  await assertRejects(() => vault.keys.ticket(TENANT_ID), SecretsError);
  assertEquals(await vault.keys.checkState(TENANT_ID), {
    kind: "unopened",
    masterKeyId: "k1",
  });
  await replaceLost(world, ring);
  assertEquals(await vault.keys.checkState(TENANT_ID), { kind: "fine" });
  const ticket = await vault.keys.ticket(TENANT_ID);
  assertNotEquals(ticket.key.id, key.id);
  assertEquals(ticket.writes, []);
  // Secrets that only the old key decrypts cannot be opened yet, but are kept.
  await assertRejects(() => vault.open(TENANT_ID, world.mailer.id));
  const made = vault.newSigning(world.mailer, { key: ticket.key, number: 2 });
  const replaced = { ...old.stored, expiresAtMs: clock.nowMs() + 60_000 };
  const worker = { ...world.mailer, signing: [made.stored, replaced] };
  assertEquals(await vault.signing(worker), [made.text]);
  await assertRejects(() =>
    vault.signing({ ...worker, signing: [old.stored] })
  );
  const both = new Vault({
    repositories,
    clock,
    masterKeys: new MasterKeys(ring.current, [before.current]),
  });
  assertEquals(
    (await both.open(TENANT_ID, world.mailer.id)).values.get("A"),
    "some value",
  );
  assertEquals(await both.signing(worker), [made.text, old.text]);
});

Deno.test("Vault.open() takes replaced and removed values out of texts for a day", async () => {
  const world = await open(createRing("k1"));
  const { secrets } = world.parts.repositories;
  await add(world, "A", "leaked value");
  const record = await secrets.get(TENANT_ID, `${world.mailer.id}:A`);
  assert(record !== undefined);
  await world.parts.store.commit([{
    writes: [
      secrets.remove(record),
      ...await retiring([record], {
        repositories: world.parts.repositories,
        nowMs: world.clock.nowMs(),
      }),
    ],
  }]);
  const clean = async (vault = world.vault): Promise<string | undefined> => {
    const { scrubber, values } = await vault.open(TENANT_ID, world.mailer.id);
    assertEquals(values.has("A"), values.size === 1);
    return scrubber?.scrubText("leaked value, fresh value");
  };
  assertEquals(await clean(), "[secret A], fresh value");
  await add(world, "A", "fresh value");
  assertEquals(await clean(), "[secret A], [secret A]");
  await world.clock.advance(RETIRED_MS);
  const later = new Vault({
    repositories: world.parts.repositories,
    clock: world.clock,
    masterKeys: world.masterKeys,
  });
  assertEquals(await clean(later), "leaked value, [secret A]");
});

Deno.test("Vault.open() forgets no other worker when one is opened twice", async () => {
  const { vault, parts: { repositories: { secrets } } } = await open(
    createRing("k1"),
  );
  let reads = 0;
  const all = secrets.all.bind(secrets);
  secrets.all = (...names) => {
    reads++;
    return all(...names);
  };
  const use = (at: number) => vault.open(TENANT_ID, `wrk_${at}`);
  for (let at = 1; at < 1_000; at++) await use(at);
  await Promise.all([use(1_000), use(1_000)]);
  assertEquals(reads, 1_001);
  for (let at = 1; at <= 1_000; at++) await use(at);
  assertEquals(reads, 1_001);
});

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

async function findRetired(
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
  const both = await findRetired(world, worker.id);
  const { repositories } = world.parts;
  const told = (nowMs: number): unknown => {
    const write = expiring(both, { repositories, nowMs });
    assert(write === undefined || "recordKind" in write && "next" in write);
    const left: Pick<RetiredSecrets, "values"> = write === undefined
      ? both
      : JSON.parse(write.next?.text ?? '{"values":[]}');
    return left.values.map(({ name, version }) => `${name}${version}`);
  };
  assertEquals(told(RETIRED_MS - 1), ["A1", "A2"]);
  assertEquals(told(RETIRED_MS), ["A2"]);
  assertEquals(told(RETIRED_MS + 1_000), []);
  await retire(world, { secrets: [record("B", 1)], nowMs: RETIRED_MS });
  const { values } = await findRetired(world, worker.id);
  assertEquals(values.map(({ name }) => name), ["A", "B"]);
});

Deno.test("retiring() keeps a bounded number of values, the newest", async () => {
  const world = await openTestEngine();
  const worker = await world.worker();
  const secrets = Array.from(
    { length: MAX_SECRETS_PER_WORKER + 5 },
    (_, index) =>
      sealedRecord(worker, {
        name: `N${index}`,
        value: "some value",
        key: KEY,
      }),
  );
  await retire(world, { secrets, nowMs: 0 });
  const { values } = await findRetired(world, worker.id);
  assertEquals(values.length, MAX_SECRETS_PER_WORKER);
  assertEquals(values.at(-1)?.name, `N${MAX_SECRETS_PER_WORKER + 4}`);
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
  const both = await findRetired(world, worker.id);
  assertEquals(
    expiring(both, { repositories, nowMs: RETIRED_MS - 1 }),
    undefined,
  );
  const first = expiring(both, { repositories, nowMs: RETIRED_MS });
  assert(first !== undefined);
  await store.commit([{ writes: [first] }]);
  const left = await findRetired(world, worker.id);
  assertEquals(left.values.map(({ version }) => version), [2]);
  const last = expiring(left, { repositories, nowMs: RETIRED_MS + 1_000 });
  assert(last !== undefined);
  await store.commit([{ writes: [last] }]);
  assertEquals(
    await repositories.retiredSecrets.get(TENANT_ID, worker.id),
    undefined,
  );
});
