import { Transaction } from "@mysten/sui/transactions";
import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { LOCAL_PACKAGE_ID } from "../shared/ledger/account_contract.ts";
import {
  bytes,
  shared,
  TransactionSigner,
} from "../shared/ledger/testing/transaction_signer.ts";
import { FullNodeApprover } from "./full_node_approver.ts";
import {
  buildApproval,
  buildIdentity,
  createSigner,
} from "./testing/key_requests.ts";
import { MemoryLedger } from "./testing/memory_ledger.ts";

const OWNER = createSigner(7);
const USER = createSigner(9).address;
const KIND = buildApproval(OWNER, [buildIdentity(OWNER)]);
const SUCCESS = { result: { effects: { status: { status: "success" } } } };

const CLOCK = new FakeClock();

function createApprover(ledger: MemoryLedger, clock = CLOCK): FullNodeApprover {
  const packageId = LOCAL_PACKAGE_ID;
  return new FullNodeApprover({ packageId, rpc: ledger.rpc, clock });
}

/** Lets an up-to-date node give the same answer to every trial. */
function answerTrials(
  ledger: MemoryLedger,
  answer: unknown,
  timestampMs: unknown = String(CLOCK.nowMs()),
): void {
  ledger.answer = ({ method }) => {
    switch (method) {
      case "sui_getLatestCheckpointSequenceNumber":
        return { result: "7" };
      case "sui_getCheckpoint":
        return { result: { sequenceNumber: "7", timestampMs } };
      default:
        return answer;
    }
  };
}

async function buildKind(
  build: (tx: Transaction) => void,
): Promise<Uint8Array> {
  const tx = new Transaction();
  build(tx);
  return new Uint8Array(await tx.build({ onlyTransactionKind: true }));
}

Deno.test("FullNodeApprover.approve() has the node try the transaction as the user, with all checks", async () => {
  const ledger = new MemoryLedger();
  answerTrials(ledger, SUCCESS);
  const outcome = await createApprover(ledger).approve({
    user: USER,
    kind: KIND,
  });
  assertEquals(outcome, {
    kind: "ok",
    ids: [buildIdentity(OWNER)],
    account: undefined,
  });
  const [, , call] = ledger.calls;
  assertEquals(call?.method, "sui_devInspectTransactionBlock");
  assertEquals(call?.params, [
    USER,
    KIND.toBase64(),
    null,
    null,
    { skipChecks: false },
  ]);
});

Deno.test("FullNodeApprover.approve() refuses whatever is no success", async () => {
  const createStatus = (status: unknown) => ({
    result: { effects: { status } },
  });
  const answers: readonly (readonly [unknown, string])[] = [
    [createStatus({ status: "failure", error: "MoveAbort" }), "refused"],
    [createStatus("success"), "refused"],
    [createStatus({}), "refused"],
    [createStatus(null), "refused"],
    [{ result: {} }, "refused"],
    [{ result: null }, "refused"],
    [{ result: "success" }, "refused"],
    [{ ...SUCCESS, error: { code: -32_002, message: "m" } }, "refused"],
    [{ ...SUCCESS, id: 99 }, "unavailable"],
  ];
  for (const [answer, outcome] of answers) {
    const ledger = new MemoryLedger();
    answerTrials(ledger, answer);
    const given = await createApprover(ledger).approve({
      user: USER,
      kind: KIND,
    });
    assertEquals(given.kind, outcome, JSON.stringify(answer));
  }
});

Deno.test("FullNodeApprover.approve() asks the node about nothing but approving functions of its package", async () => {
  const id = buildIdentity(OWNER);
  const foreign = new TransactionSigner({
    seed: 7,
    packageId: `0x${"ab".repeat(32)}`,
  });
  const account = (tx: Transaction) => shared(tx, OWNER.accountId, false);
  const owned = (tx: Transaction) =>
    tx.objectRef({
      objectId: OWNER.accountId,
      version: "1",
      digest: "11111111111111111111111111111111",
    });
  const cases: readonly (readonly [string, Uint8Array, string])[] = [
    ["nothing", new Uint8Array(0), "invalid"],
    ["no calls", Uint8Array.of(0, 0, 0), "invalid"],
    [
      "another function",
      await buildKind((tx) => {
        OWNER.call(tx, "add_delegate_key", [bytes(tx, id), account(tx)]);
      }),
      "invalid",
    ],
    [
      "another package",
      await buildKind((tx) => {
        foreign.call(tx, "seal_approve", [bytes(tx, id), account(tx)]);
      }),
      "package",
    ],
    [
      "another package in the second call",
      await buildKind((tx) => {
        OWNER.call(tx, "seal_approve", [bytes(tx, id), account(tx)]);
        foreign.call(tx, "seal_approve", [bytes(tx, id), account(tx)]);
      }),
      "package",
    ],
    [
      "an object that the user need not have",
      await buildKind((tx) => {
        OWNER.call(tx, "seal_approve", [bytes(tx, id), owned(tx)]);
      }),
      "invalid",
    ],
    [
      "bytes in place of an object",
      await buildKind((tx) => {
        OWNER.call(tx, "seal_approve", [bytes(tx, id), bytes(tx, id)]);
      }),
      "invalid",
    ],
    [
      "an identity that is not a list of bytes",
      await buildKind((tx) => {
        OWNER.call(tx, "seal_approve", [tx.pure.u64(3), account(tx)]);
      }),
      "invalid",
    ],
    [
      "no identity",
      await buildKind((tx) => {
        OWNER.call(tx, "seal_approve", [account(tx)]);
      }),
      "invalid",
    ],
  ];
  const ledger = new MemoryLedger();
  answerTrials(ledger, SUCCESS);
  const approver = createApprover(ledger);
  for (const [what, kind, outcome] of cases) {
    const given = await approver.approve({ user: USER, kind });
    assertEquals(given.kind, outcome, what);
  }
  assertEquals(ledger.calls, []);
});

Deno.test("FullNodeApprover.approve() takes no word of a node that is two minutes behind", async () => {
  const clock = new FakeClock();
  const ledger = new MemoryLedger();
  const question = { user: USER, kind: KIND };
  const times: readonly (readonly [unknown, string])[] = [
    [String(clock.nowMs() - 120_001), "unavailable"],
    [null, "unavailable"],
    ["soon", "unavailable"],
    [String(clock.nowMs() - 120_000), "ok"],
  ];
  for (const [timestampMs, outcome] of times) {
    answerTrials(ledger, SUCCESS, timestampMs);
    const { kind } = await createApprover(ledger, clock).approve(question);
    assertEquals(kind, outcome, String(timestampMs));
  }
  // The node's last checkpoint is checked from time to time, not with each
  // request.
  const approver = createApprover(ledger, clock);
  const methods = async () => {
    ledger.calls.length = 0;
    const { kind } = await approver.approve(question);
    return [kind, ledger.calls.length];
  };
  assertEquals(await methods(), ["ok", 3]);
  clock.advance(9_999);
  assertEquals(await methods(), ["ok", 1]);
  clock.advance(1);
  assertEquals(await methods(), ["unavailable", 2]);
});
