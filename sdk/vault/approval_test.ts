import { assert, assertEquals, assertThrows } from "@std/assert";
import { bcs } from "@mysten/sui/bcs";
import { Transaction } from "@mysten/sui/transactions";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { MAX_APPROVALS, writeApproval } from "./approval.ts";
import { readApproval } from "./testing/approval_reader.ts";

const PACKAGE_ID = `0x${"ab".repeat(32)}`;
const ACCOUNT = { objectId: `0x${"cd".repeat(32)}`, initialVersion: 3n };
const REGISTRY = { objectId: `0x${"ef".repeat(32)}`, initialVersion: 1n };
const IDS = [Uint8Array.of(1, 2, 3), new Uint8Array(300).fill(9)];

function built(): Uint8Array {
  return writeApproval({
    packageId: PACKAGE_ID,
    account: ACCOUNT,
    registry: REGISTRY,
    ids: IDS,
  });
}

async function builtByOthers(): Promise<Uint8Array> {
  const transaction = new Transaction();
  const shared = ({ objectId, initialVersion }: typeof ACCOUNT) =>
    transaction.sharedObjectRef({
      objectId,
      initialSharedVersion: String(initialVersion),
      mutable: false,
    });
  const [account, registry] = [shared(ACCOUNT), shared(REGISTRY)];
  for (const id of IDS) {
    transaction.moveCall({
      target: `${PACKAGE_ID}::account::seal_approve`,
      arguments: [
        transaction.pure(bcs.byteVector().serialize(id)),
        account,
        registry,
      ],
    });
  }
  return await transaction.build({ onlyTransactionKind: true });
}

Deno.test("writeApproval() writes what the public client reads as calls", () => {
  const kind = bcs.TransactionKind.parse(built());
  const { inputs, commands } = kind.ProgrammableTransaction ?? {};
  assertEquals(inputs?.length, 4);
  assertEquals(
    commands?.map(({ MoveCall }) => [
      MoveCall?.package,
      MoveCall?.module,
      MoveCall?.function,
      MoveCall?.arguments.map(({ Input }) => Input),
    ]),
    [2, 3].map((id) => [PACKAGE_ID, "account", "seal_approve", [id, 0, 1]]),
  );
  const bytes = bcs.TransactionKind.serialize(kind).toBytes();
  assertEquals(new Uint8Array(bytes), new Uint8Array(built()));
});

Deno.test("readApproval() reads its own transactions and those of the public client", async () => {
  for (const bytes of [built(), await builtByOthers()]) {
    const outcome = readApproval(bytes.subarray(1));
    assert(outcome.kind === "ok");
    assertEquals(
      outcome.calls,
      IDS.map((id) => ({
        packageId: PACKAGE_ID,
        module: "account",
        functionName: "seal_approve",
        id,
        objectIds: [ACCOUNT.objectId, REGISTRY.objectId],
      })),
    );
  }
});

Deno.test("readApproval() refuses every cut and survives every flipped bit", () => {
  const ptb = built().subarray(1);
  for (let length = 0; length < ptb.length; length++) {
    assertEquals(readApproval(ptb.subarray(0, length)).kind, "invalid");
  }
  const random = new SeededRandom(3);
  for (let round = 0; round < 3_000; round++) {
    const changed = ptb.slice();
    const at = random.below(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
    const { kind } = readApproval(changed);
    assert(kind === "ok" || kind === "invalid");
  }
  for (let round = 0; round < 3_000; round++) {
    readApproval(random.bytes(random.below(200)));
  }
});

Deno.test("readApproval() refuses other commands and arguments", async () => {
  const transfer = new Transaction();
  transfer.transferObjects([transfer.gas], PACKAGE_ID);
  const swapped = new Transaction();
  swapped.moveCall({
    target: `${PACKAGE_ID}::account::seal_approve`,
    arguments: [swapped.sharedObjectRef({
      objectId: ACCOUNT.objectId,
      initialSharedVersion: "1",
      mutable: false,
    })],
  });
  const typed = new Transaction();
  typed.moveCall({
    target: `${PACKAGE_ID}::account::seal_approve`,
    typeArguments: ["u8"],
  });
  for (const transaction of [transfer, swapped, typed, new Transaction()]) {
    const bytes = await transaction.build({ onlyTransactionKind: true });
    assertEquals(readApproval(bytes.subarray(1)).kind, "invalid");
  }
});

Deno.test("writeApproval() refuses none, too many and too long identities", () => {
  const write = (ids: readonly Uint8Array[]) =>
    assertThrows(
      () => writeApproval({ packageId: PACKAGE_ID, account: ACCOUNT, ids }),
      RangeError,
    );
  write([]);
  write(Array(MAX_APPROVALS + 1).fill(Uint8Array.of(1)));
  write([new Uint8Array(513)]);
});
