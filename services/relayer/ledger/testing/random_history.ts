/**
 * Random transactions of owners and commands of the operator, for tests of the
 * embedded ledger.
 *
 * @module
 */

import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { TransactionSigner } from "../../../shared/ledger/testing/transaction_signer.ts";
import type { LocalLedger } from "../local_ledger.ts";
import type { TransactionExecutor } from "../transaction_executor.ts";

/** What is filled. */
export interface FilledLedger {
  /** Executes transactions. */
  readonly executor: Pick<TransactionExecutor, "execute">;
  /** Runs a change on the newest state. */
  change<T>(apply: (ledger: LocalLedger) => T): Promise<T>;
}

/** The seeds of the owners whose accounts change. */
export const OWNERS = [1, 2, 3];

/**
 * Fills a ledger with 40 random transactions and commands, each by one of those
 * that are given.
 */
export async function fillLedger(
  ledgers: readonly FilledLedger[],
  seed: number,
): Promise<void> {
  const random = new SeededRandom(seed);
  const [first] = ledgers;
  if (first === undefined) return;
  const { packageId, coins } = await first.change(({ packageId, rows }) => ({
    packageId,
    coins: OWNERS.map((own) =>
      rows.getCoin(new TransactionSigner({ seed: own, packageId }).address)
    ),
  }));
  const owners = OWNERS.map((own, at) => {
    const owner = new TransactionSigner({ seed: own, packageId });
    owner.coin = coins[at] ?? owner.coin;
    return owner;
  });
  const keys = [11, 12, 13, 14].map((own) =>
    new TransactionSigner({ seed: own, packageId }).publicKey
  );
  for (let round = 0; round < 40; round++) {
    const { change, executor } = random.pick(ledgers);
    const owner = random.pick(owners);
    const key = random.pick(keys);
    if (random.chance(0.3)) {
      await change(randomCommand({ owner, key, random, round }));
      continue;
    }
    const { coin } = owner;
    const sent = await random.pick([
      () => owner.createAccount(),
      () => owner.addDelegateKey(key, { label: `label ${round}` }),
      () => owner.removeDelegateKey(key),
      () => owner.setActive(random.chance(0.5)),
    ])();
    const outcome = await executor.execute({ ...sent, from: "192.0.2.1" });
    // A refused transaction leaves no trace, so the coin has not changed
    // either.
    if (outcome.kind === "refused") owner.coin = coin;
  }
}

function randomCommand(
  { owner, key, random, round }: {
    readonly owner: TransactionSigner;
    readonly key: Uint8Array;
    readonly random: SeededRandom;
    readonly round: number;
  },
): (ledger: LocalLedger) => unknown {
  const { address, accountId } = owner;
  const publicKey = key.toHex();
  const isActive = random.chance(0.7);
  const server = {
    name: `server ${round}`,
    url: "http://127.0.0.1:1",
    publicKey: new Uint8Array(96).fill(random.below(3)),
  };
  return random.pick<(ledger: LocalLedger) => unknown>([
    (to) => to.createAccount({ address }),
    (to) => to.addDelegateKey(accountId, { publicKey, label: "op" }),
    (to) => to.removeDelegateKey(accountId, publicKey),
    (to) => to.setActive(accountId, isActive),
    (to) => to.addKeyServer(server),
  ]);
}
