/**
 * Tests whether key servers and the embedded ledger agree about every account:
 * the transactions that the ledger executes must have the same effect when a
 * key server replays them, or owners would be locked out.
 *
 * @module
 */

import type { Transaction } from "@mysten/sui/transactions";
import { assert, assertEquals } from "@std/assert";
import { LedgerRpc } from "../../services/keyserver/ledger_rpc.ts";
import { SeenAccounts } from "../../services/keyserver/seen_accounts.ts";
import { SignedApprover } from "../../services/keyserver/signed_approver.ts";
import {
  buildApproval,
  buildIdentity,
  createSigner,
} from "../../services/keyserver/testing/key_requests.ts";
import { openLedgerFile } from "../../services/relayer/ledger/ledger_file.ts";
import {
  type EmbeddedLedger,
  embeddedLedger,
} from "../../services/localnet/testing/embedded_ledger.ts";
import { LOCAL_PACKAGE_ID } from "../../services/shared/ledger/account_contract.ts";
import {
  bytes,
  clock,
  shared,
  type TransactionSigner,
} from "../../services/shared/ledger/testing/transaction_signer.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { eachRound } from "../support/rounds.ts";
import type { SeededRandom } from "../support/seeded_random.ts";

const OWNERS = [31, 32];
const SEEDS = [...OWNERS, 33, 34, 35];

Deno.test(
  "a key server approves exactly what the embedded ledger approves, after whatever owners have sent",
  { timeout: 240_000 },
  async () => {
    await eachRound({ rounds: 3 }, async ({ random }) => {
      const dataDir = await Deno.makeTempDir();
      const file = openLedgerFile(`${dataDir}/ledger.db`, new FakeClock());
      const approver = new SignedApprover({
        packageId: LOCAL_PACKAGE_ID,
        rpc: createRpc(embeddedLedger(file)),
        seen: new SeenAccounts(dataDir, new FakeClock()),
      });
      try {
        const ledger = embeddedLedger(file);
        const owners = OWNERS.map(createSigner);
        let carriedOut = 0;
        // Enough transactions for more than one page of a listing.
        for (let at = 0; at < 130; at++) {
          const owner = random.pick(owners);
          if (await send(ledger, owner, random)) carriedOut++;
          if (random.chance(0.1)) await compare(ledger, approver, owner);
        }
        assert(carriedOut > 60, String(carriedOut));
        for (const owner of owners) await compare(ledger, approver, owner);
        assertEquals(ledger.faults, []);
      } finally {
        approver.close();
        await file.close();
        await Deno.remove(dataDir, { recursive: true });
      }
    });
  },
);

function createRpc({ call }: EmbeddedLedger): LedgerRpc {
  return new LedgerRpc({
    url: "http://ledger.test/rpc",
    fetch: async (_url, { body }) => {
      const { id, method, params } = JSON.parse(String(body));
      const answer = await call(method, ...params);
      return Response.json({ ...Object(answer), id });
    },
  });
}

/**
 * Sends a transaction, valid or not; returns whether the ledger executed it.
 */
async function send(
  { client }: EmbeddedLedger,
  owner: TransactionSigner,
  random: SeededRandom,
): Promise<boolean> {
  const before = owner.coin;
  const isFirst = before.version === 1n;
  const count = random.pick([0, 1, 1, 1, 1, 1, 1, 1, 2, 3]);
  const { data, signature } = await owner.sign((tx) => {
    if (isFirst) create(tx, owner);
    for (let at = 0; at < count; at++) addCall(tx, owner, random);
    if (random.chance(0.1)) tx.setExpiration({ Epoch: random.below(3) });
  });
  try {
    await client.executeTransactionBlock({
      transactionBlock: data,
      signature: signature.toBase64(),
    });
    return true;
  } catch {
    // The ledger has refused the transaction, so the next one uses the same
    // coin version.
    owner.coin = before;
    return false;
  }
}

/**
 * Adds a call of a random function, in any of its forms, mostly for the owner's
 * own account.
 */
function addCall(
  tx: Transaction,
  owner: TransactionSigner,
  random: SeededRandom,
): void {
  const { accountId } = random.chance(0.9)
    ? owner
    : createSigner(random.pick(OWNERS));
  const account = shared(tx, accountId);
  const registry = owner.registry(tx);
  const other = createSigner(random.pick(SEEDS));
  const key = random.chance(0.05) ? new Uint8Array(32) : other.publicKey;
  const label = "l".repeat(random.pick([0, 6, 64, 65]));
  switch (random.below(15) % 8) {
    case 6:
      return create(tx, owner);
    case 1:
    case 2:
      return owner.call(tx, "add_delegate_key", [
        ...[account, registry, bytes(tx, key)],
        ...[tx.pure.string(label), clock(tx)],
      ]);
    case 3:
      // The older form of the function, from before the contract derived the
      // address.
      return owner.call(tx, "add_delegate_key", [
        ...[account, bytes(tx, other.publicKey)],
        ...[tx.pure.address(other.address), tx.pure.string(label), clock(tx)],
      ]);
    case 4:
      return owner.call(tx, "remove_delegate_key", [
        account,
        ...(random.chance(0.5) ? [registry] : []),
        bytes(tx, key),
      ]);
    case 5:
      return owner.call(tx, "deactivate_account", [account, registry]);
    case 0:
      return owner.call(tx, "reactivate_account", [account, registry]);
    default:
      return owner.call(tx, "seal_approve", [
        ...[bytes(tx, buildIdentity(owner)), registry, account],
      ]);
  }
}

function create(tx: Transaction, owner: TransactionSigner): void {
  owner.call(tx, "create_account", [owner.registry(tx, true), clock(tx)]);
}

/**
 * Asks both the key server's approver and the ledger who may have an owner's
 * keys.
 */
async function compare(
  { call }: EmbeddedLedger,
  approver: SignedApprover,
  owner: TransactionSigner,
): Promise<void> {
  for (const counter of [0n, 1n, 3n]) {
    const kind = buildApproval(owner, [buildIdentity(owner, counter)]);
    for (const seed of SEEDS) {
      const { address } = createSigner(seed);
      const answer = await approver.approve({ user: address, kind });
      const tried = await call(
        "sui_devInspectTransactionBlock",
        address,
        kind.toBase64(),
      );
      const isApproved = JSON.stringify(tried).includes('"status":"success"');
      assertEquals(answer.kind, isApproved ? "ok" : "refused");
    }
  }
}
