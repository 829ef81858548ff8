/**
 * Sends calls that no correct client makes: whatever arrives, the ledger
 * answers with an error code of its own, and what owners signed stays
 * unchanged.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { countRounds } from "../../tests/support/rounds.ts";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { systemClock } from "../shared/clock.ts";
import { deriveRegistryId } from "../shared/ledger/account_contract.ts";
import { TransactionSigner } from "../shared/ledger/testing/transaction_signer.ts";
import { checkLedger } from "../relayer/ledger/ledger_check.ts";
import { openLedgerFile } from "../relayer/ledger/ledger_file.ts";
import {
  type EmbeddedLedger,
  embeddedLedger,
} from "./testing/embedded_ledger.ts";
import {
  openAt,
  withLedger,
} from "../relayer/ledger/testing/open_test_ledger.ts";

const METHODS: readonly string[] = [
  "sui_getObject",
  "sui_multiGetObjects",
  "suix_getDynamicFieldObject",
  "suix_getOwnedObjects",
  "suix_getCoins",
  "suix_getBalance",
  "suix_getAllBalances",
  "sui_executeTransactionBlock",
  "sui_dryRunTransactionBlock",
  "sui_devInspectTransactionBlock",
  "sui_getTransactionBlock",
  "sui_multiGetTransactionBlocks",
  "suix_queryTransactionBlocks",
  "suix_queryEvents",
  "sui_getEvents",
  "sui_getCheckpoint",
  "sui_getNormalizedMoveFunction",
  "rpc.discover",
];

function createSigner(
  seed: number,
  { ledger }: EmbeddedLedger,
): TransactionSigner {
  return new TransactionSigner({ seed, packageId: ledger.packageId });
}

async function execute(
  { executor }: EmbeddedLedger,
  sent: { readonly data: Uint8Array; readonly signature: Uint8Array },
): Promise<string> {
  return (await executor.execute({ ...sent, from: "192.0.2.1" })).kind;
}

Deno.test("any call with any parameters is answered, and nothing fails within", async () => {
  await withLedger(async ({ file }) => {
    const embedded = embeddedLedger(file);
    const { ledger } = embedded;
    const owner = createSigner(1, embedded);
    const created = await owner.createAccount();
    assertEquals(await execute(embedded, created), "ok");
    const before = JSON.stringify(ledger.record(owner.accountId));
    const random = new SeededRandom(21);
    const leaves: readonly unknown[] = [
      ...[null, true, false, 0, -1, 1.5, 1e300, 2 ** 53, "", "0x", "0x6", "x"],
      ...[ledger.packageId, owner.accountId, owner.address, created.digest],
      ...["account", "create_account", "u64", "address", "9".repeat(19)],
      ...["18446744073709551615", "0".repeat(64), "\u0000", "__proto__"],
      ...[created.data.toBase64(), created.signature.toBase64(), "AA=="],
      ...[deriveRegistryId(ledger.packageId), "é".repeat(2_000), "=".repeat(9)],
    ];
    const names: readonly string[] = [
      ...["filter", "options", "type", "value", "FromAddress", "All", "limit"],
      ...["ChangedObject", "MoveModule", "package", "module", "MoveEventType"],
      ...["txDigest", "eventSeq", "showContent", "showBcs", "showInput"],
      ...["showRawInput", "showEffects", "showRawEffects", "__proto__"],
    ];
    const any = (depth: number): unknown => {
      const kind = random.below(depth > 2 ? 1 : 4);
      if (kind === 1) {
        return Array.from({ length: random.below(4) }, () => any(depth + 1));
      }
      if (kind === 2) {
        return Object.fromEntries(
          Array.from(
            { length: random.below(4) },
            () => [random.pick(names), any(depth + 1)],
          ),
        );
      }
      return random.pick(leaves);
    };
    for (let round = 0; round < 4_000; round++) {
      const params = Array.from({ length: random.below(5) }, () => any(0));
      const method = random.pick(METHODS);
      const body = { jsonrpc: "2.0", id: round, method, params };
      const reply = await embedded.answerRpc(body, { from: "192.0.2.9" });
      const text = JSON.stringify(reply);
      assert(text.includes('"result"') || text.includes('"error"'), text);
    }
    assertEquals(embedded.faults, []);
    assertEquals(JSON.stringify(ledger.record(owner.accountId)), before);
    assertEquals(checkLedger(ledger).kind, "ok");
  });
});

Deno.test("signed bytes that say anything change nobody else's account, and nothing fails within", async () => {
  await withLedger(async ({ file }) => {
    const embedded = embeddedLedger(file);
    const { ledger, executor } = embedded;
    const [owner, thief] = [
      createSigner(1, embedded),
      createSigner(2, embedded),
    ];
    await execute(embedded, await owner.createAccount());
    await execute(
      embedded,
      await owner.addDelegateKey(createSigner(3, embedded).publicKey),
    );
    const before = JSON.stringify(ledger.record(owner.accountId));
    const random = new SeededRandom(22);
    const rounds = countRounds(170);
    for (let round = 0; round < rounds; round++) {
      const { coin } = thief;
      const sent = await random.pick([
        () => thief.createAccount(),
        () =>
          thief.addDelegateKey(thief.publicKey, { accountId: owner.accountId }),
        () => thief.removeDelegateKey(createSigner(3, embedded).publicKey),
      ])();
      const data = sent.data.slice();
      for (let change = random.below(4); change > 0; change--) {
        data[random.below(data.length)] = random.below(256);
      }
      const { signature: text } = await thief.keyPair.signTransaction(data);
      const signature = Uint8Array.fromBase64(text);
      await executor.execute({ data, signature, from: "192.0.2.1" });
      await embedded.call("sui_dryRunTransactionBlock", data.toBase64());
      thief.coin = ledger.rows.getCoin(thief.address);
      assert(thief.coin.version >= coin.version);
    }
    assertEquals(JSON.stringify(ledger.record(owner.accountId)), before);
    assertEquals(checkLedger(ledger).kind, "ok");
    assert(ledger.log.head().sequence > 20);
  });
});

Deno.test("of two processes that carry out the same sender's next transaction, one does", async () => {
  await withLedger(async ({ file, path }) => {
    const other = openAt(path);
    const [first, second] = [embeddedLedger(file), embeddedLedger(other)];
    const owner = createSigner(1, first);
    await execute(first, await owner.createAccount());
    const { coin } = owner;
    const one = await owner.setActive(false);
    owner.coin = coin;
    const two = await owner.addDelegateKey(owner.publicKey);
    const outcomes = await Promise.all([
      execute(first, one),
      execute(second, two),
      // The transaction of the first process is sent to the second one as well.
      execute(second, one),
    ]);
    assertEquals(outcomes.filter((kind) => kind === "ok").length, 2);
    assertEquals(first.ledger.log.head(), second.ledger.log.head());
    assertEquals(first.ledger.log.head().sequence, 2);
    assertEquals(checkLedger(second.ledger).kind, "ok");
    await other.close();
  });
});

Deno.test("the log's time never goes back, even when the clock does", async () => {
  const folder = await Deno.makeTempDir();
  let nowMs = new FakeClock().nowMs();
  const clock = { ...systemClock, nowMs: () => nowMs };
  const file = openLedgerFile(`${folder}/ledger.db`, clock);
  try {
    const embedded = embeddedLedger(file);
    const owner = createSigner(1, embedded);
    await execute(embedded, await owner.createAccount());
    const at = nowMs;
    nowMs -= 3_600_000;
    await execute(embedded, await owner.addDelegateKey(owner.publicKey));
    const key = embedded.ledger.record(owner.accountId)?.delegateKeys[0];
    assertEquals(key?.createdAtMs, at);
    assertEquals(checkLedger(embedded.ledger).kind, "ok");
  } finally {
    await file.close();
    await Deno.remove(folder, { recursive: true });
  }
});
