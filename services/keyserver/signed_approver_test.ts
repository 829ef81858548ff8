import { Transaction } from "@mysten/sui/transactions";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { eachRound } from "../../tests/support/rounds.ts";
import type { SeededRandom } from "../../tests/support/seeded_random.ts";
import {
  type AccountState,
  LOCAL_PACKAGE_ID,
} from "../shared/ledger/account_contract.ts";
import { AccountReplay } from "../shared/ledger/account_replay.ts";
import {
  bytes,
  shared,
  type TestTransaction,
  TransactionSigner,
} from "../shared/ledger/testing/transaction_signer.ts";
import type { ApprovalAnswer } from "./approver.ts";
import { SeenAccounts } from "./seen_accounts.ts";
import { SignedApprover } from "./signed_approver.ts";
import {
  buildApproval,
  buildIdentity,
  createSigner,
} from "./testing/key_requests.ts";
import { MemoryLedger } from "./testing/memory_ledger.ts";

const OWNER = 7;
const DELEGATES = [9, 10, 11];

/**
 * An approver with a ledger in memory, and a folder that is removed after the
 * test.
 */
class TestApprover {
  readonly ledger = new MemoryLedger();
  readonly #dataDir: string;
  #approver: SignedApprover;

  constructor() {
    this.#dataDir = Deno.makeTempDirSync({ prefix: "keyserver_test_" });
    this.#approver = this.#open();
  }

  #open(): SignedApprover {
    return new SignedApprover({
      packageId: LOCAL_PACKAGE_ID,
      rpc: this.ledger.rpc,
      seen: new SeenAccounts(this.#dataDir, new FakeClock()),
    });
  }

  restart(): void {
    this.#approver.close();
    this.#approver = this.#open();
  }

  approve(seed: number, kind: Uint8Array): Promise<ApprovalAnswer> {
    return this.#approver.approve({ user: createSigner(seed).address, kind });
  }

  [Symbol.dispose](): void {
    this.#approver.close();
    Deno.removeSync(this.#dataDir, { recursive: true });
  }
}

/**
 * Makes the bytes of a transaction's kind with the public client's own code.
 */
async function buildKind(
  build: (tx: Transaction) => void,
): Promise<Uint8Array> {
  const tx = new Transaction();
  build(tx);
  return new Uint8Array(await tx.build({ onlyTransactionKind: true }));
}

Deno.test("SignedApprover.approve() reads an account once for all identities, and for all that ask meanwhile", async () => {
  using test = new TestApprover();
  const owner = createSigner(OWNER);
  test.ledger.transactions = [await owner.createAccount()];
  const ids = Array.from({ length: 100 }, () => buildIdentity(owner));
  const kind = buildApproval(owner, ids);
  const answers = await Promise.all(
    [1, 2, 3].map(() => test.approve(OWNER, kind)),
  );
  for (const answer of answers) {
    assert(answer.kind === "ok");
    assertEquals(answer.ids.length, 100);
    assertEquals(answer.account, owner.accountId);
  }
  // One call for the first request, and one that began after the others had
  // arrived.
  assertEquals(test.ledger.calls.length, 2);
  const [call] = test.ledger.calls;
  assertEquals(call?.params[0], {
    filter: { FromAddress: owner.address },
    options: { showRawInput: true },
  });
  // The next request reads only newer transactions, also after a restart.
  test.restart();
  assertEquals((await test.approve(OWNER, kind)).kind, "ok");
  assertEquals(
    test.ledger.calls[2]?.params[1],
    test.ledger.transactions[0]?.digest,
  );
});

Deno.test("SignedApprover.approve() refuses a delegate that was removed while another reading was under way", async () => {
  using test = new TestApprover();
  const owner = createSigner(OWNER);
  const delegate = createSigner(9);
  const before = [
    await owner.createAccount(),
    await owner.addDelegateKey(delegate.publicKey),
  ];
  const removed = await owner.removeDelegateKey(delegate.publicKey);
  test.ledger.transactions = before;
  const kind = buildApproval(owner, [buildIdentity(owner)]);
  let later: Promise<ApprovalAnswer> | undefined;
  test.ledger.answer = (call) => {
    const result = test.ledger.page(call);
    // The key is removed after the ledger has read the history and before its
    // answer arrives.
    test.ledger.transactions = [...before, removed];
    later ??= test.approve(9, kind);
    return { result };
  };
  assertEquals((await test.approve(OWNER, kind)).kind, "ok");
  assertEquals((await later)?.kind, "refused");
});

Deno.test("SignedApprover.approve() refuses what is no approval, before it asks the ledger", async () => {
  using test = new TestApprover();
  const owner = createSigner(OWNER);
  const other = createSigner(8);
  const right = buildApproval(owner, [buildIdentity(owner)]);
  const foreign = new TransactionSigner({
    seed: OWNER,
    packageId: `0x${"ab".repeat(32)}`,
  });
  const approve = (id: Uint8Array, accountId = owner.accountId) =>
    buildKind((tx) => {
      owner.call(tx, "seal_approve", [
        bytes(tx, id),
        shared(tx, accountId, false),
      ]);
    });
  const cases: readonly (readonly [string, Uint8Array, string, string])[] = [
    ["nothing", new Uint8Array(0), "invalid", "ends too early"],
    ["one byte more", Uint8Array.of(...right, 0), "invalid", "left over"],
    ["one byte less", right.slice(0, -1), "invalid", "ends too early"],
    ["no calls", Uint8Array.of(0, 0, 0), "invalid", "1 to 100"],
    [
      "another function",
      await buildKind((tx) => {
        owner.call(tx, "reactivate_account", [
          shared(tx, owner.accountId),
          owner.registry(tx),
        ]);
      }),
      ...["invalid", "not of seal_approve"] as const,
    ],
    [
      "another package",
      await buildKind((tx) => {
        foreign.call(tx, "seal_approve", [
          bytes(tx, buildIdentity(owner)),
          shared(tx, owner.accountId, false),
        ]);
      }),
      ...["package", "differs"] as const,
    ],
    [
      "another's account",
      await approve(buildIdentity(owner), other.accountId),
      ...["refused", "may not have"] as const,
    ],
    [
      "an account of its own for another's identity",
      await approve(buildIdentity(other)),
      ...["refused", "may not have"] as const,
    ],
    [
      "an identity that is too short",
      await approve(new Uint8Array(31)),
      ...["refused", "may not have"] as const,
    ],
    [
      "an identity that is too long",
      await approve(new Uint8Array(513)),
      ...["invalid", "too long"] as const,
    ],
    [
      "too many identities",
      await buildKind((tx) => {
        for (let at = 0; at < 101; at++) {
          owner.call(tx, "seal_approve", [
            bytes(tx, buildIdentity(owner)),
            shared(tx, owner.accountId, false),
          ]);
        }
      }),
      ...["invalid", "1 to 100"] as const,
    ],
  ];
  for (const [what, kind, outcome, words] of cases) {
    const answer = await test.approve(OWNER, kind);
    assertEquals(answer.kind, outcome, what);
    assertStringIncludes(answer.kind === "ok" ? "" : answer.reason, words);
  }
  assertEquals(test.ledger.calls, []);
  test.ledger.transactions = [await owner.createAccount()];
  assertEquals(
    (await test.approve(OWNER, await approve(buildIdentity(owner)))).kind,
    "ok",
  );
});

Deno.test("SignedApprover.approve() is alarmed by answers that are no page", async () => {
  const owner = createSigner(OWNER);
  const created = await owner.createAccount();
  const raw = created.signed.toBase64();
  const page = (data: unknown, hasNextPage = false) => ({
    result: { data, nextCursor: null, hasNextPage },
  });
  const answers: readonly unknown[] = [
    { result: null },
    { result: [] },
    page({}),
    page([{}]),
    page([null]),
    page([{ rawTransaction: 7 }]),
    page([{ rawTransaction: "%" }]),
    page([{ rawTransaction: "" }]),
    page([{ rawTransaction: raw }, { rawTransaction: raw }]),
    page(Array.from({ length: 51 }, () => ({ rawTransaction: raw }))),
    // An approver that asked for this page again would never end.
    page([], true),
    { error: { code: -32_602, message: "no such cursor" } },
  ];
  for (const answer of answers) {
    using test = new TestApprover();
    test.ledger.answer = () => answer;
    const kind = buildApproval(owner, [buildIdentity(owner)]);
    const outcome = await test.approve(OWNER, kind);
    assert(outcome.kind === "unavailable" && outcome.isAlarming);
    assertStringIncludes(outcome.reason, "contradicts itself");
    test.ledger.answer = undefined;
    test.ledger.transactions = [created];
    assertEquals((await test.approve(OWNER, kind)).kind, "ok");
  }
});

Deno.test("SignedApprover.approve() reads so many pages at a time, and goes on where it was", async () => {
  using test = new TestApprover();
  const owner = createSigner(OWNER);
  const { publicKey } = createSigner(DELEGATES[0] ?? 0);
  const all: TestTransaction[] = [await owner.createAccount()];
  while (all.length < 45) {
    all.push(await owner.addDelegateKey(publicKey));
    all.push(await owner.removeDelegateKey(publicKey));
  }
  test.ledger.transactions = all;
  test.ledger.pageSize = 1;
  const kind = buildApproval(owner, [buildIdentity(owner, 22n)]);
  const first = await test.approve(OWNER, kind);
  assert(first.kind === "unavailable" && !first.isAlarming);
  assertStringIncludes(first.reason, "too many transactions");
  assertEquals(test.ledger.calls.length, 40);
  assertEquals((await test.approve(OWNER, kind)).kind, "ok");
  assertEquals(test.ledger.calls.length, 45);
});

Deno.test("SignedApprover.approve() gives nobody keys whom no true history lists, whatever the ledger answers", async () => {
  const stranger = createSigner(12);
  const forged = await stranger.createAccount();
  await eachRound({ rounds: 8 }, async ({ random }) => {
    using test = new TestApprover();
    const owner = createSigner(OWNER);
    const all = await createHistory(owner, random);
    const states = replayStates(owner, all);
    const seen = random.below(all.length + 1);
    const kind = buildApproval(owner, [buildIdentity(owner)]);
    test.ledger.transactions = all.slice(0, seen);
    await test.approve(OWNER, kind);
    for (let time = 0; time < 4; time++) {
      test.ledger.transactions = changed(all, { random, forged });
      for (const seed of [OWNER, ...DELEGATES, 12]) {
        const outcome = await test.approve(seed, kind);
        if (outcome.kind !== "ok") continue;
        const { address } = createSigner(seed);
        const mayHave = states.slice(seen).some((state) =>
          state?.isActive === true && (state.owner === address ||
            state.delegateKeys.some((key) => key.address === address))
        );
        assert(mayHave, `${seed} after ${seen} of ${all.length}`);
      }
    }
    test.ledger.transactions = all;
    for (const seed of [OWNER, ...DELEGATES, 12]) {
      const { address } = createSigner(seed);
      const last = states.at(-1);
      const outcome = await test.approve(seed, kind);
      const isListed = last?.isActive === true && (last.owner === address ||
        last.delegateKeys.some((key) => key.address === address));
      assertEquals(outcome.kind, isListed ? "ok" : "refused");
    }
  });
});

/** Makes an account's history: transactions of its owner. */
async function createHistory(
  owner: TransactionSigner,
  random: SeededRandom,
): Promise<TestTransaction[]> {
  const all = [await owner.createAccount()];
  const length = 2 + random.below(6);
  while (all.length < length) {
    const { publicKey } = createSigner(DELEGATES[random.below(3)] ?? 0);
    // Some of the transactions abort; they belong to the history, too.
    const step = random.below(8);
    if (step < 4) all.push(await owner.addDelegateKey(publicKey));
    else if (step < 6) all.push(await owner.removeDelegateKey(publicKey));
    else all.push(await owner.setActive(step === 7));
  }
  return all;
}

/**
 * Returns the account's state after none, one, two, ... of the transactions.
 */
function replayStates(
  { address }: TransactionSigner,
  all: readonly TestTransaction[],
): readonly (AccountState | undefined)[] {
  const replay = new AccountReplay({
    packageId: LOCAL_PACKAGE_ID,
    owner: address,
  });
  const states: (AccountState | undefined)[] = [undefined];
  for (const { signed } of all) {
    assertEquals(replay.add(signed, { timestampMs: 0 }).kind, "ok");
    states.push(replay.account);
  }
  return states;
}

/** Tampers with a history in a random way. */
function changed(
  all: readonly TestTransaction[],
  { random, forged }: {
    readonly random: SeededRandom;
    readonly forged: TestTransaction;
  },
): readonly TestTransaction[] {
  const list = [...all];
  const at = random.below(list.length);
  const one = list[at];
  const other = random.below(list.length);
  assert(one !== undefined);
  switch (random.below(6)) {
    case 0:
      return list.slice(0, at);
    case 1:
      list.splice(at, 1);
      break;
    case 2:
      list.splice(other, 0, one);
      break;
    case 3:
      list[at] = list[other] ?? one;
      list[other] = one;
      break;
    case 4:
      list.splice(at, 0, forged);
      break;
    default: {
      const signed = one.signed.slice();
      const byte = random.below(signed.length);
      signed[byte] = (signed[byte] ?? 0) ^ (1 << random.below(8));
      list[at] = { ...one, signed };
    }
  }
  return list;
}

Deno.test("SignedApprover.approve() lets all who ask meanwhile share a ledger's silence, and asks again afterwards", async () => {
  using test = new TestApprover();
  const owner = createSigner(OWNER);
  test.ledger.transactions = [await owner.createAccount()];
  const kind = buildApproval(owner, [buildIdentity(owner)]);
  test.ledger.answer = () => ({ id: "another" });
  const answers = await Promise.all(
    [1, 2, 3].map(() => test.approve(OWNER, kind)),
  );
  assertEquals(
    answers.map((answer) => answer.kind),
    ["unavailable", "unavailable", "unavailable"],
  );
  assertEquals(test.ledger.calls.length, 1);
  test.ledger.answer = undefined;
  assertEquals((await test.approve(OWNER, kind)).kind, "ok");
});
