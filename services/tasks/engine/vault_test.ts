import { assert, assertEquals, assertRejects } from "@std/assert";
import { newSigningKey } from "../delivery/signing_secret.ts";
import type { SigningSecret, WorkerDefinition } from "../domain/worker.ts";
import type { MasterKeys } from "../secrets/master_keys.ts";
import { flipBit, ringOf } from "../secrets/testing/keys.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";
import { sealedRecord } from "./testing/test_push.ts";
import { Vault } from "./vault.ts";

interface World extends TestEngine {
  readonly vault: Vault;
  readonly mailer: WorkerDefinition;
}

async function open(masterKeys?: MasterKeys): Promise<World> {
  const world = await openTestEngine();
  const vault = new Vault({
    books: world.parts.books,
    clock: world.clock,
    ...(masterKeys === undefined ? {} : { masterKeys }),
  });
  return { ...world, vault, mailer: await world.worker() };
}

/** Adds a secret, or puts it in the place of one that was removed. */
async function add(
  { vault, parts, mailer }: World,
  name: string,
  value: string,
): Promise<void> {
  const { key, writes } = await vault.ticket(TENANT_ID);
  const record = sealedRecord(mailer, { name, value, key });
  const write = parts.books.secrets.adding(record);
  const [result] = await parts.store.commit([{ writes: [...writes, write] }]);
  assertEquals(result?.kind, "ok");
}

async function values({ vault, mailer }: World): Promise<unknown> {
  const { values } = await vault.open(TENANT_ID, mailer.id);
  return Object.fromEntries(values);
}

Deno.test("Vault.open() opens the secrets of a worker, as they are now", async () => {
  const world = await open(ringOf("k1"));
  assertEquals(await values(world), {});
  await add(world, "A", "first value");
  await add(world, "B", "another value");
  assertEquals(await values(world), { A: "first value", B: "another value" });
  const { secrets } = world.parts.books;
  const record = await secrets.get(TENANT_ID, `${world.mailer.id}:A`);
  assert(record !== undefined);
  const { key } = await world.vault.ticket(TENANT_ID);
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
    writes: [secrets.changing(record, next)],
  }]);
  assertEquals(await values(world), { A: "second value", B: "another value" });
});

Deno.test("Vault.open() does not give a value that was removed and set anew", async () => {
  const world = await open(ringOf("k1"));
  await add(world, "A", "leaked value");
  assertEquals(await values(world), { A: "leaked value" });
  const { secrets } = world.parts.books;
  const record = await secrets.get(TENANT_ID, `${world.mailer.id}:A`);
  assert(record !== undefined);
  await world.parts.store.commit([{ writes: [secrets.removing(record)] }]);
  await add(world, "A", "fresh value");
  assertEquals(await values(world), { A: "fresh value" });
  const { scrubber } = await world.vault.open(TENANT_ID, world.mailer.id);
  assertEquals(scrubber?.scrubText("x fresh value x").includes("fresh"), false);
});

Deno.test("Vault opens what an earlier master key wrapped, and nothing without it", async () => {
  const ring = ringOf("k2", "k1");
  const world = await open(ring);
  await add(world, "A", "some value");
  const stranger = new Vault({
    books: world.parts.books,
    clock: world.clock,
    masterKeys: ringOf("k2"),
  });
  await assertRejects(() => stranger.open(TENANT_ID, world.mailer.id));
  await assertRejects(() => stranger.ticket(TENANT_ID));
  const none = await open();
  assertEquals(none.vault.isAvailable, false);
  assertEquals(await values(none), {});
  await assertRejects(() => none.vault.ticket(TENANT_ID), Error, "master key");
});

Deno.test("Vault opens nothing that was tampered with or moved to another row", async () => {
  const world = await open(ringOf("k1"));
  const { key, writes } = await world.vault.ticket(TENANT_ID);
  const good = sealedRecord(world.mailer, { name: "A", value: "a value", key });
  const other = { ...good, id: `${world.mailer.id}:B`, name: "B" };
  const { secrets } = world.parts.books;
  await world.parts.store.commit([{
    writes: [...writes, secrets.adding(other)],
  }]);
  await assertRejects(() => world.vault.open(TENANT_ID, world.mailer.id));
  const flipped = { ...good, sealed: flipBit(good.sealed, 200) };
  await world.parts.store.commit([{
    writes: [secrets.removing(other), secrets.adding(flipped)],
  }]);
  await assertRejects(() => world.vault.open(TENANT_ID, world.mailer.id));
});

Deno.test("Vault.signing() gives the secrets in force, the new one first", async () => {
  const world = await open(ringOf("k1"));
  const { key, writes } = await world.vault.ticket(TENANT_ID);
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
  const world = await open(ringOf("k1"));
  const { key, writes } = await world.vault.ticket(TENANT_ID);
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
