/**
 * Tests the relayer's receipts with the SDK's verification.
 *
 * @module
 */

import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { Mem, type ReceiptKey } from "../../mod.ts";
import { isReceipt } from "../../sdk/memory/receipt.ts";
import { verifyReceipt } from "../../sdk/memory/verify_receipt.ts";
import { stubParts } from "../../sdk/memory/testing/stub_parts.ts";
import { receiptBytes } from "../../sdk/vault/receipt_bytes.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { eachRound } from "../support/rounds.ts";
import { runRelayer } from "../support/relayer_process.ts";
import type { SeededRandom } from "../support/seeded_random.ts";
import {
  addKey,
  hashBytes,
  hashContent,
  type KeptReceiptKey,
  ReceiptSigner,
} from "../../services/relayer/receipts/receipt.ts";
import { StoreFailedError } from "../../services/shared/store_failed.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";

type ReceiptStatement = Parameters<ReceiptSigner["sign"]>[0];

type ReceiptView = ReturnType<ReceiptSigner["sign"]>;

type ReceiptKeyStore = Parameters<typeof addKey>[0];

const STATEMENT: ReceiptStatement = {
  kind: "remember",
  owner: `0x${"a1".repeat(32)}`,
  namespace: "hábits",
  memoryId: "memory-1",
  blobId: "blob-1",
  contentHash: hashContent("Ada drinks tea", "07".repeat(32)),
  timeMs: 1_800_000_000_000,
};

function keyStore(...seeds: readonly number[]): ReceiptKeyStore {
  const keys: KeptReceiptKey[] = seeds.map((byte) => ({
    seed: new Uint8Array(32).fill(byte),
    madeAtMs: byte,
  }));
  return {
    maxAgeMs: 750,
    receiptKeys: () => Promise.resolve([...keys]),
    addReceiptKey({ seed, madeAtMs }, { isFirst }) {
      if (!isFirst || keys.length === 0) {
        keys.push({ seed: seed.slice(), madeAtMs });
      }
      return Promise.resolve();
    },
  };
}

/** Verifies a receipt in the form that a client gets. */
async function check(
  view: ReceiptView,
  signer: Pick<ReceiptSigner, "keys">,
  options = {},
) {
  const receipt: unknown = JSON.parse(JSON.stringify(view));
  if (!isReceipt(receipt)) return "malformed";
  const parts = stubParts({ receiptKeys: await signer.keys() });
  const outcome = await verifyReceipt(parts, receipt, options);
  return outcome.kind === "ok" ? "ok" : outcome.reason;
}

Deno.test("ReceiptSigner signs the bytes that are written down, always the same", async () => {
  const signer = await ReceiptSigner.open(keyStore(7), new FakeClock());
  // These values were computed by another program; receipts will be verified in
  // this form for years.
  assertEquals(await signer.keys(), [{
    id: "fe812c12f3ab4ce6",
    publicKey:
      "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c",
    fromMs: 7,
  }]);
  assertEquals(
    hashBytes(receiptBytes({ ...signer.sign(STATEMENT), key_id: "key" })),
    "29879d562c7b8f98187485bbcda87279e26ba06e9bd8e234aa694a6adad68f62",
  );
  const receipt = signer.sign(STATEMENT);
  assertEquals(
    receipt.signature,
    "QYDR7apGU/dqCnOYPOwjQ6MT1CeOO1CgoFsSKjUM1giWos4qyauCP+b96vGmudGa1EuuFWyfd0ra1tYCsDcIBw==",
  );
  assertEquals(signer.sign(STATEMENT), receipt);
});

Deno.test("ReceiptSigner makes a key at the first start, and tells of earlier ones after a new one", async () => {
  const clock = new FakeClock();
  const store = keyStore();
  const first = await ReceiptSigner.open(store, clock);
  const early = first.sign(STATEMENT);
  const firstKeys = await first.keys();
  const again = await ReceiptSigner.open(store, clock);
  assertEquals(await again.keys(), firstKeys);
  clock.advance(1_000);
  assertEquals(await first.keys(), firstKeys);
  const told = await addKey(store, clock);
  const second = await ReceiptSigner.open(store, clock);
  assertEquals(await second.keys(), [...firstKeys, told]);
  const late = second.sign(STATEMENT);
  assertNotEquals(late.key_id, early.key_id);
  assertEquals(await check(early, second), "ok");
  assertEquals(await check(late, second), "ok");
  // Another relayer has made the key: within a second each tells of it.
  assertEquals(await check(late, first), "unknown_key");
  clock.advance(750);
  assertEquals(await check(late, first), "ok");
});

Deno.test("ReceiptSigner.keys() reads once for all who ask, and tells the known keys while the store fails", async () => {
  const clock = new FakeClock();
  const store = keyStore(1);
  let readings = 0;
  let isBroken = false;
  const signer = await ReceiptSigner.open({
    ...store,
    receiptKeys() {
      readings++;
      return isBroken
        ? Promise.reject(new StoreFailedError("down"))
        : store.receiptKeys();
    },
  }, clock);
  const known = await signer.keys();
  readings = 0;
  clock.advance(750);
  await Promise.all([signer.keys(), signer.keys(), signer.keys()]);
  assertEquals(readings, 1);
  isBroken = true;
  clock.advance(750);
  assertEquals(await signer.keys(), known);
  assertEquals(readings, 2);
});

Deno.test("ReceiptSigner makes one key when several relayers start at once", async () => {
  const store = keyStore();
  const signers = await Promise.all(
    Array.from({ length: 3 }, () => ReceiptSigner.open(store, new FakeClock())),
  );
  assertEquals((await store.receiptKeys()).length, 1);
  const ids = signers.map((signer) => signer.sign(STATEMENT).key_id);
  assertEquals(new Set(ids).size, 1);
});

Deno.test("a receipt that was changed in any place does not verify", async () => {
  const signer = await ReceiptSigner.open(keyStore(7), new FakeClock());
  const receipt = signer.sign(STATEMENT);
  const text = "Ada drinks tea";
  const contentSalt = "07".repeat(32);
  assertEquals(await check(receipt, signer, { text, contentSalt }), "ok");
  const others = [
    { text: "Ada drinks milk", contentSalt },
    { text, contentSalt: "08".repeat(32) },
    { text, contentSalt: "" },
    { text, contentSalt: "no digits" },
    { bytes: new TextEncoder().encode(text) },
  ];
  for (const other of others) {
    assertEquals(await check(receipt, signer, other), "other_content");
  }
  assertEquals(await check(receipt, signer, { owner: "0x1" }), "other_owner");
  const names = Object.keys(receipt).filter((name) => name !== "version");
  await eachRound({ rounds: 60, seed: 15 }, async ({ random }) => {
    const name = names[random.below(names.length)] ?? "";
    const value: unknown = Reflect.get(receipt, name);
    if (value === undefined) return;
    const changed = typeof value === "number"
      ? value + 1 + random.below(10)
      : mutated(String(value), random);
    const forged = { ...receipt, [name]: changed };
    assertNotEquals(await check(forged, signer), "ok", `${name}: ${changed}`);
  });
  // Letters moved from one member to the next make the signature invalid, too.
  const moved = { ...receipt, memory_id: "memory-1b", blob_id: "lob-1" };
  assertEquals(await check(moved, signer), "bad_signature");
});

/** Returns the text with one letter changed. */
function mutated(text: string, random: SeededRandom): string {
  const at = random.below(text.length);
  const letter = text[at] === "x" ? "y" : "x";
  const changed = text.slice(0, at) + letter + text.slice(at + 1);
  assert(changed !== text);
  return changed;
}

onStores({
  name:
    "receipts of the relayer verify after a restart and with a key that was made since, offline with pinned keys",
  onBoth: true,
  fn: async (storage) => {
    await using home = await RelayerHome.open({ storage });
    const text = "Ada drinks tea";
    const fetchKeys = async (): Promise<readonly ReceiptKey[]> => {
      const config = await (await fetch(`${home.url}/config`)).json();
      return config.receiptKeys;
    };
    const { id, receipt, content_salt } = await home.mem().rememberAndWait(
      text,
    );
    assert(receipt !== undefined && content_salt !== undefined);
    const pinned = await fetchKeys();
    assertEquals(pinned.length, 1);
    await home.stop();
    const made = await runRelayer({
      dataDir: home.dataDir,
      env: home.storage.env,
      args: ["vault", "new-receipt-key", "--json"],
    });
    assertEquals(made.code, 0, made.stderr);
    await home.start();
    assertEquals(await fetchKeys(), [...pinned, JSON.parse(made.stdout)]);
    const again = await home.mem().getRememberStatus(id);
    assert(again.receipt !== undefined);
    assertNotEquals(again.receipt.key_id, receipt.key_id);
    assertEquals(again.receipt.content_hash, receipt.content_hash);
    assertEquals(again.content_salt, content_salt);

    const offline = Mem.create({
      ...{ key: "07".repeat(32), accountId: "0x1" },
      receiptKeys: pinned,
      fetch: () => Promise.reject(new TypeError("there is no network")),
    });
    const contentSalt = content_salt;
    assertEquals(await offline.verifyReceipt(receipt, { text, contentSalt }), {
      kind: "ok",
      isPinned: true,
    });
    assertEquals(await offline.verifyReceipt(again.receipt), {
      kind: "invalid",
      reason: "unknown_key",
    });
    assertEquals(await home.mem().verifyReceipt(again.receipt), {
      kind: "ok",
      isPinned: false,
    });
    await assertRejects(
      () => offline.verifyReceipt(receipt, { text }),
      TypeError,
      "contentSalt",
    );
    await assertRejects(
      () =>
        offline.verifyReceipt(receipt, {
          ...{ text: "another text", contentSalt },
          bytes: new Uint8Array(1),
        }),
      TypeError,
      "no bytes",
    );
  },
});
