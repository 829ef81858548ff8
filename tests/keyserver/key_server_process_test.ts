import { assert, assertEquals, assertRejects } from "@std/assert";
import { NoAccessError } from "npm:@mysten/seal@^1.4.12";
import { KeyServerClient } from "../../sdk/vault/key_server_client.ts";
import {
  publicClient,
  publicSession,
} from "../../sdk/vault/testing/public_client.ts";
import { encryptForIdentity } from "../../sdk/vault/threshold_encryption.ts";
import {
  buildApproval,
  buildIdentity,
  createSigner,
} from "../../services/keyserver/testing/key_requests.ts";
import { run } from "../../services/keyserver/main.ts";
import { LOCAL_PACKAGE_ID } from "../../services/shared/ledger/account_contract.ts";
import type { TransactionSigner } from "../../services/shared/ledger/testing/transaction_signer.ts";
import { runSteps } from "../support/data_service_process.ts";
import {
  KeyServerGroup,
  makeKey,
  runKeyServer,
} from "../support/keyserver_process.ts";
import { asked, createSeed, DELEGATE, OWNER } from "./asking.ts";
import { ScriptedLedger } from "./scripted_ledger.ts";

const TEXT = new TextEncoder().encode("Ada prefers tea to coffee.");

/** Creates an owner with an account and a delegate on the ledger. */
async function ownerOn(
  ledger: ScriptedLedger,
  seed = OWNER,
): Promise<TransactionSigner> {
  const owner = createSigner(seed);
  ledger.add(owner.address, await owner.createAccount());
  const { publicKey } = createSigner(DELEGATE);
  ledger.add(owner.address, await owner.addDelegateKey(publicKey));
  return owner;
}

function buildEnv(ledger: ScriptedLedger): Readonly<Record<string, string>> {
  return { LEDGER_RPC_URL: ledger.url };
}

interface World {
  readonly ledger: ScriptedLedger;
  readonly group: KeyServerGroup;
  /** One of the key servers. */
  readonly one: Pick<KeyServerGroup, "keyServers">;
}

Deno.test("key servers give keys", { timeout: 240_000 }, async (t) => {
  await using ledger = new ScriptedLedger();
  await using group = await KeyServerGroup.start(3, buildEnv(ledger));
  const one = { keyServers: group.keyServers.slice(0, 1) };
  await runSteps(t, { ledger, group, one }, {
    "a key server shows that it has its secret": showsSecret,
    "a removed delegate gets no key, nor does anyone of an account that is switched off":
      refusesRemoved,
    "a ledger that is set back, cut or forged gets its key server to refuse":
      refusesForged,
    "a key server that cannot read the ledger gives no key and says so":
      tellsAway,
    // The last step, since it ends key servers.
    "the public client decrypts with two of three key servers, with one away as well, and not with two away":
      decryptsWithTwo,
  });
});

async function showsSecret({ one }: World): Promise<void> {
  const client = new KeyServerClient({
    ...one,
    threshold: 1,
  });
  assertEquals(await client.withoutPossession(), []);
  const url = one.keyServers[0]?.url ?? "";
  const other = await fetch(`${url}/v1/service?service_id=0x00`);
  assertEquals(other.status, 400);
  assertEquals((await other.json()).error, "InvalidServiceId");
}

async function refusesRemoved({ ledger, one }: World): Promise<void> {
  const owner = await ownerOn(ledger, 21);
  assertEquals(await asked(one, { owner }), "ok");
  // An identity with a later counter is refused: with its key a delegate
  // could decrypt what is encrypted after the delegate's removal.
  const later = buildIdentity(owner, 1n);
  assert((await asked(one, { owner, id: later })).includes("NoAccess"));
  const { publicKey } = createSigner(DELEGATE);
  ledger.add(owner.address, await owner.removeDelegateKey(publicKey));
  assert((await asked(one, { owner })).includes("NoAccess"));
  assertEquals(await asked(one, { owner, seed: 21, id: later }), "ok");
  ledger.add(owner.address, await owner.setActive(false));
  const off = await asked(one, { owner, seed: 21 });
  assert(off.includes("deactivated"), off);
}

async function refusesForged({ ledger, one }: World): Promise<void> {
  const { publicKey } = createSigner(DELEGATE);
  const removing = async (seed: number) => {
    const owner = await ownerOn(ledger, seed);
    const { address } = owner;
    ledger.add(address, await owner.removeDelegateKey(publicKey));
    const all = ledger.transactions.get(address) ?? [];
    const [created, added, removed] = all;
    assert(created && added && removed);
    const stranger = createSigner(11);
    const theirs = await stranger.addDelegateKey(stranger.publicKey, {
      accountId: owner.accountId,
    });
    return { owner, all, created, added, removed, theirs };
  };
  const { owner, all, created, added, theirs } = await removing(22);
  const { address } = owner;
  assert((await asked(one, { owner })).includes("NoAccess"));
  const forgeries = {
    "set back": [created, added],
    "empty": [],
    "repeated": [...all, added],
    "of another sender": [...all, theirs],
    "with another signature": [...all, {
      ...added,
      signed: added.signed.map((byte, at) => at === 200 ? byte ^ 1 : byte),
    }],
  };
  for (const [what, transactions] of Object.entries(forgeries)) {
    ledger.transactions.set(address, transactions);
    const outcome = await asked(one, { owner });
    assert(outcome.includes("contradicts itself"), `${what}: ${outcome}`);
  }
  ledger.transactions.set(address, all);
  assert((await asked(one, { owner })).includes("NoAccess"));
  // The key server has seen nothing of this account before.
  const fresh = await removing(23);
  for (
    const cut of [
      [fresh.added, fresh.removed],
      [fresh.created, fresh.removed],
      [fresh.theirs],
    ]
  ) {
    ledger.transactions.set(fresh.owner.address, cut);
    const outcome = await asked(one, fresh);
    assert(outcome.includes("contradicts itself"), outcome);
  }
}

async function tellsAway({ ledger, group, one }: World): Promise<void> {
  const owner = await ownerOn(ledger, 24);
  ledger.isAway = true;
  const outcome = await asked(one, { owner });
  assert(outcome.includes("the ledger does not answer"), outcome);
  assert(!outcome.includes("502"), outcome);
  await group.processes[0]?.waitForLine("it answers 502");
  ledger.isAway = false;
  assertEquals(await asked(one, { owner }), "ok");
}

async function decryptsWithTwo({ ledger, group }: World): Promise<void> {
  const owner = await ownerOn(ledger);
  const id = buildIdentity(owner);
  const data = await encryptForIdentity({
    keyServers: group.keyServers,
    threshold: 2,
    packageId: LOCAL_PACKAGE_ID,
    id,
    data: TEXT,
  });
  const decrypt = async (
    seed: number,
    // A new client each time, since a client caches keys.
    client = publicClient(group.keyServers, fetch),
  ) =>
    await client.decrypt({
      data,
      sessionKey: await publicSession(createSeed(seed), LOCAL_PACKAGE_ID),
      txBytes: buildApproval(owner, [id]),
    });
  assertEquals(await decrypt(OWNER), TEXT);
  assertEquals(await decrypt(DELEGATE), TEXT);
  await assertRejects(() => decrypt(11), NoAccessError);
  // These clients verify all key servers before some of them are stopped.
  const later = [1, 2].map(() => publicClient(group.keyServers, fetch));
  for (const client of later) await client.getKeyServers();
  await group.processes[0]?.kill();
  assertEquals(await decrypt(DELEGATE, later[0]), TEXT);
  assertEquals(await asked(group, { owner }), "ok");
  await group.processes[2]?.kill();
  await assertRejects(
    () => decrypt(DELEGATE, later[1]),
    TypeError,
    "fetch failed",
  );
  assert(
    (await asked(group, { owner })).startsWith("unavailable: it cannot be"),
  );
}

Deno.test("a key server with a full node takes its word", async () => {
  await using ledger = new ScriptedLedger();
  const owner = createSigner(OWNER);
  await using group = await KeyServerGroup.start(1, {
    ...buildEnv(ledger),
    LEDGER_MODE: "fullnode",
    LEDGER_PACKAGE_ID: LOCAL_PACKAGE_ID,
  });
  assertEquals(await asked(group, { owner }), "ok");
  for (const trial of ["failure", "error"] as const) {
    ledger.trial = trial;
    assert((await asked(group, { owner })).includes("NoAccess"));
  }
  assert(ledger.calls.includes("sui_devInspectTransactionBlock"));
  assert(!ledger.calls.includes("suix_queryTransactionBlocks"));
});

Deno.test("a key server refuses too many requests of an address", async () => {
  await using ledger = new ScriptedLedger();
  const owner = await ownerOn(ledger);
  await using group = await KeyServerGroup.start(1, {
    ...buildEnv(ledger),
    RATE_PER_USER_MINUTE: "2",
  });
  const outcomes = [];
  for (let at = 0; at < 3; at++) outcomes.push(await asked(group, { owner }));
  assertEquals(outcomes.slice(0, 2), ["ok", "ok"]);
  assert(outcomes[2]?.includes("it answers 429"));
  assertEquals(await asked(group, { owner, seed: OWNER }), "ok");
});

Deno.test("keyserver key makes a secret once and shows what is public of it", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "keyserver_test_" });
  try {
    const start = (...args: string[]) => runKeyServer({ dataDir, args });
    const missing = await start();
    assertEquals(missing.code, 1);
    assert(missing.stderr.includes('"keyserver key new" makes one'));
    const made = await start("key", "new", "--json");
    assertEquals(made.code, 0);
    await assertRejects(() => makeKey(dataDir));
    const shown = await start("key", "show", "--json");
    assertEquals(shown.stdout, made.stdout);
    const again = await start("key", "new", "--if-missing", "--json");
    assertEquals(again.stdout, made.stdout);
    const silent = { out: () => {}, err: () => {} };
    assertEquals(await run(["key", "burn"], silent), 2);
    assertEquals(await run(["burn"], silent), 2);
    const { objectId, publicKey } = JSON.parse(made.stdout);
    assertEquals([objectId.length, publicKey.length], [66, 192]);
    const entries = await Array.fromAsync(Deno.readDir(dataDir));
    for (const { name } of entries) {
      const { mode } = await Deno.stat(`${dataDir}/${name}`);
      assertEquals((mode ?? 0) & 0o077, 0, name);
    }
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
