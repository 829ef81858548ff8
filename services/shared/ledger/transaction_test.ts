import { bcs } from "@mysten/sui/bcs";
import { Transaction as PublicTransaction } from "@mysten/sui/transactions";
import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { CLOCK_ID, deriveRegistryId } from "./account_contract.ts";
import { encodeBase58 } from "./digest.ts";
import {
  clock,
  shared,
  TransactionSigner,
} from "./testing/transaction_signer.ts";
import {
  hashTransaction,
  MAX_TRANSACTION_BYTES,
  readSignedTransaction,
  readTransaction,
  readTransactionKind,
  writeSignedTransaction,
} from "./transaction.ts";

const PACKAGE = `0x${"c1".repeat(32)}`;
const ID = `0x${"ab".repeat(32)}`;

function createSigner(seed: number): TransactionSigner {
  return new TransactionSigner({ seed, packageId: PACKAGE });
}

Deno.test("readTransaction() reads what the public client builds", async () => {
  const signer = createSigner(1);
  const { coin } = signer;
  const { data } = await signer.addDelegateKey(new Uint8Array(32).fill(3), {
    label: "phone ☎",
    accountId: ID,
  });
  const read = readTransaction(data);
  assert(read.kind === "ok", Deno.inspect(read));
  const { calls, sender, gas, validity } = read.value;
  assertEquals(sender, signer.address);
  assertEquals(gas, {
    payment: [coin],
    owner: signer.address,
    price: 1_000n,
    budget: 1_000_000n,
  });
  assertEquals(validity, {});
  assertEquals(calls, [{
    packageId: PACKAGE,
    module: "account",
    functionName: "add_delegate_key",
    inputs: [
      { kind: "shared", objectId: ID, initialVersion: 1n, isMutable: true },
      {
        kind: "shared",
        objectId: deriveRegistryId(PACKAGE),
        initialVersion: 1n,
        isMutable: false,
      },
      { kind: "pure", bytes: Uint8Array.of(32, ...Array(32).fill(3)) },
      {
        kind: "pure",
        bytes: Uint8Array.of(9, ...new TextEncoder().encode("phone ☎")),
      },
      {
        kind: "shared",
        objectId: CLOCK_ID,
        initialVersion: 1n,
        isMutable: false,
      },
    ],
  }]);
});

Deno.test("hashTransaction() makes the digest that the public client makes", async () => {
  const signer = createSigner(2);
  const { data } = await signer.createAccount();
  const digest = await PublicTransaction.from(data).getDigest();
  assertEquals(encodeBase58(hashTransaction(data)), digest);
});

Deno.test("readTransaction() reads each form of expiration", async () => {
  const chain = encodeBase58(new Uint8Array(32).fill(4));
  const expirations = [
    { Epoch: 7 },
    {
      ValidDuring: {
        minEpoch: "1",
        maxEpoch: null,
        minTimestamp: null,
        maxTimestamp: "9",
        chain,
        nonce: 5,
      },
    },
    {
      Validity: {
        minEpoch: null,
        maxEpoch: "2",
        minTimestamp: "3",
        maxTimestamp: null,
        chain,
        nonce: 5,
        allowedProposers: { epoch: "1", proposers: [1, 2] },
      },
    },
  ];
  const signer = createSigner(3);
  const { data } = await signer.createAccount();
  const parsed = bcs.TransactionData.parse(data);
  const read = expirations.map((expiration) => {
    const outcome = readTransaction(
      bcs.TransactionData.serialize({
        V1: { ...parsed.V1, expiration },
      }).toBytes(),
    );
    assert(outcome.kind === "ok", Deno.inspect(outcome));
    const { chain: bytes, ...others } = outcome.value.validity;
    return { ...others, hasChain: bytes?.[31] === 4 };
  });
  assertEquals(read, [
    { maxEpoch: 7n, hasChain: false },
    {
      minEpoch: 1n,
      maxEpoch: undefined,
      minTimestampMs: undefined,
      maxTimestampMs: 9n,
      hasChain: true,
    },
    {
      minEpoch: undefined,
      maxEpoch: 2n,
      minTimestampMs: 3n,
      maxTimestampMs: undefined,
      hasChain: true,
    },
  ]);
});

Deno.test("readTransactionKind() reads the kind alone", async () => {
  const tx = new PublicTransaction();
  tx.moveCall({
    target: `${PACKAGE}::account::create_account`,
    arguments: [shared(tx, ID), clock(tx)],
  });
  const kind = await tx.build({ onlyTransactionKind: true });
  const read = readTransactionKind(kind);
  assert(read.kind === "ok");
  assertEquals(read.value[0]?.functionName, "create_account");
  assertEquals(read.value[0]?.inputs.length, 2);
});

Deno.test("readSignedTransaction() reads what the public client writes", async () => {
  const { data, signature, signed } = await createSigner(4).createAccount();
  const written = bcs.SenderSignedData.serialize([{
    intentMessage: {
      intent: {
        scope: { TransactionData: true },
        version: { V0: true },
        appId: { Sui: true },
      },
      value: bcs.TransactionData.parse(data),
    },
    txSignatures: [signature.toBase64()],
  }]).toBytes();
  assertEquals(signed, new Uint8Array(written));
  assertEquals(writeSignedTransaction({ data, signature }), signed);
  const read = readSignedTransaction(signed);
  assert(read.kind === "ok");
  assertEquals(read.value.data, data);
  assertEquals(read.value.signature, signature);
});

Deno.test("readTransaction() refuses what it could not carry out", async () => {
  const signer = createSigner(5);
  const builds: readonly ((tx: PublicTransaction) => void)[] = [
    (tx) => tx.transferObjects([tx.gas], ID),
    (tx) => tx.splitCoins(tx.gas, [1]),
    (tx) => tx.publish({ modules: [[1]], dependencies: [] }),
    (tx) =>
      tx.moveCall({
        target: `${PACKAGE}::account::create_account`,
        typeArguments: ["u8"],
      }),
    (tx) =>
      tx.moveCall({
        target: `${PACKAGE}::account::create_account`,
        arguments: [tx.gas],
      }),
  ];
  for (const build of builds) {
    const { data } = await signer.sign((tx) => void build(tx));
    assertEquals(readTransaction(data).kind, "invalid", String(build));
  }
});

Deno.test("readSignedTransaction() takes one encoding of each transaction only", async () => {
  const { signed, data } = await createSigner(6).addDelegateKey(
    new Uint8Array(32).fill(2),
  );
  const random = new SeededRandom(11);
  for (let length = 0; length < signed.length; length++) {
    const short = readSignedTransaction(signed.subarray(0, length));
    assertEquals(short.kind, "invalid", `${length}`);
  }
  assertEquals(
    readSignedTransaction(Uint8Array.of(...signed, 0)).kind,
    "invalid",
  );
  for (let round = 0; round < 4_000; round++) {
    const changed = signed.slice();
    const at = random.below(changed.length);
    changed[at] = random.below(256);
    const read = readSignedTransaction(changed);
    if (read.kind === "invalid") continue;
    // What is read says all that the bytes say: written again it is the same.
    assertEquals(writeSignedTransaction(read.value), changed);
    const again = readTransaction(read.value.data);
    assert(again.kind === "ok");
    assertEquals(again.value, read.value.transaction);
  }
  for (let round = 0; round < 2_000; round++) {
    readSignedTransaction(random.bytes(random.below(300)));
    const tail = random.bytes(random.below(200));
    readTransaction(
      Uint8Array.of(...data.subarray(0, random.below(data.length)), ...tail),
    );
  }
});

Deno.test("readTransaction() refuses lengths that are not in their shortest form, and huge ones", async () => {
  const { data } = await createSigner(7).createAccount();
  assertEquals(readTransaction(data).kind, "ok");
  // The first byte is the version, as a variant: 0 could be written 0x80 0x00.
  const long = Uint8Array.of(0x80, 0x00, ...data.subarray(1));
  assertEquals(readTransaction(long).kind, "invalid");
  const huge = Uint8Array.of(0, 0, 0xff, 0xff, 0xff, 0xff, 0x07);
  assertEquals(readTransaction(huge).kind, "invalid");
  const large = new Uint8Array(MAX_TRANSACTION_BYTES * 2);
  assertEquals(readTransaction(large).kind, "invalid");
});
