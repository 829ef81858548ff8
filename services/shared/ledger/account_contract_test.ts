import { bcs } from "@mysten/sui/bcs";
import { assert, assertEquals } from "@std/assert";
import { addressBytes } from "../../../sdk/vault/bcs.ts";
import {
  AbortCode,
  type AccountCall,
  type AccountState,
  applyCall,
  applyCalls,
  isIdentityOf,
  readAccountCall,
} from "./account_contract.ts";
import { addressOfKey } from "./ed25519.ts";
import {
  bytes,
  clock,
  shared,
  TransactionSigner,
} from "./testing/transaction_signer.ts";
import { readTransaction } from "./transaction.ts";

const PACKAGE = `0x${"c1".repeat(32)}`;
const NOW = 1_700_000_000_000;
const owner = new TransactionSigner({ seed: 1, packageId: PACKAGE });
const stranger = new TransactionSigner({ seed: 2, packageId: PACKAGE });
const { accountId } = owner;

function createKey(n: number): Uint8Array {
  return new TransactionSigner({ seed: n, packageId: PACKAGE }).publicKey;
}

function add(n: number, label = "laptop"): AccountCall {
  return {
    kind: "add_delegate_key",
    accountId,
    publicKey: createKey(n),
    label,
  };
}

function remove(n: number): AccountCall {
  return { kind: "remove_delegate_key", accountId, publicKey: createKey(n) };
}

function approve(id: Uint8Array): AccountCall {
  return { kind: "seal_approve", accountId, id };
}

const CREATE: AccountCall = { kind: "create_account" };
const OFF: AccountCall = { kind: "deactivate_account", accountId };
const ON: AccountCall = { kind: "reactivate_account", accountId };

function run(
  account: AccountState | undefined,
  calls: readonly AccountCall[],
  sender = owner.address,
): ReturnType<typeof applyCalls> {
  return applyCalls(calls, {
    ...{ packageId: PACKAGE, sender, nowMs: NOW, account },
  });
}

function after(...calls: readonly AccountCall[]): AccountState {
  const outcome = run(undefined, calls);
  assert(outcome.kind === "ok", Deno.inspect(outcome));
  assert(outcome.account !== undefined);
  return outcome.account;
}

function getCode(outcome: { readonly kind: string; readonly code?: number }) {
  return outcome.kind === "abort" ? outcome.code : undefined;
}

function identity(address: string, counter?: bigint): Uint8Array {
  const tail = counter === undefined
    ? new Uint8Array(0)
    : bcs.u64().serialize(counter).toBytes();
  return Uint8Array.of(1, 2, ...addressBytes(address), ...tail);
}

Deno.test("applyCalls() makes an account, adds keys and removes them", () => {
  const account = after(CREATE, add(3), add(4, ""));
  assertEquals(account, {
    accountId,
    owner: owner.address,
    isActive: true,
    createdAtMs: NOW,
    delegateKeys: [
      {
        publicKey: createKey(3).toHex(),
        address: addressOfKey(createKey(3)),
        label: "laptop",
        createdAtMs: NOW,
      },
      {
        publicKey: createKey(4).toHex(),
        address: addressOfKey(createKey(4)),
        label: "",
        createdAtMs: NOW,
      },
    ],
    accessCounter: 0n,
  });
  const [first, second] = account.delegateKeys;
  assert(first !== undefined && second !== undefined);
  const removed = run(account, [remove(3)]);
  assert(removed.kind === "ok");
  assertEquals(removed.account?.accessCounter, 1n);
  assertEquals(removed.account?.delegateKeys, [second]);
  assertEquals(removed.events, [
    { kind: "DelegateKeyRemoved", key: first },
  ]);
});

Deno.test("applyCalls() aborts as the contract does", () => {
  const account = after(CREATE, add(3));
  const off = after(CREATE, add(3), OFF);
  const full = after(
    CREATE,
    ...Array.from({ length: 20 }, (_, index) => add(10 + index)),
  );
  const long: AccountCall = add(5, "é".repeat(33));
  const short: AccountCall = {
    kind: "add_delegate_key",
    accountId,
    publicKey: new Uint8Array(31),
    label: "",
  };
  const weak: AccountCall = { ...short, publicKey: new Uint8Array(32) };
  const rows: readonly (readonly [
    AccountState | undefined,
    AccountCall,
    string,
    number | undefined,
  ])[] = [
    [account, CREATE, owner.address, AbortCode.accountExists],
    [account, add(3), owner.address, AbortCode.keyExists],
    [account, remove(4), owner.address, AbortCode.keyMissing],
    [full, add(5), owner.address, AbortCode.tooManyKeys],
    [account, add(5), stranger.address, AbortCode.notOwner],
    [account, remove(3), stranger.address, AbortCode.notOwner],
    [account, OFF, stranger.address, AbortCode.notOwner],
    [off, ON, stranger.address, AbortCode.notOwner],
    [undefined, add(5), owner.address, AbortCode.notOwner],
    [account, short, owner.address, AbortCode.badKey],
    [account, weak, owner.address, AbortCode.badKey],
    [off, add(5), owner.address, AbortCode.deactivated],
    [off, OFF, owner.address, AbortCode.deactivated],
    [account, long, owner.address, AbortCode.labelTooLong],
    [account, ON, owner.address, AbortCode.alreadyActive],
    [account, add(5, "é".repeat(32)), owner.address, undefined],
    // Also while it is switched off, so that its owner can clean up first.
    [off, remove(3), owner.address, undefined],
    [off, ON, owner.address, undefined],
  ];
  for (const [state, call, sender, code] of rows) {
    const outcome = applyCall(call, {
      ...{ packageId: PACKAGE, sender, nowMs: NOW, account: state },
    });
    assertEquals(getCode(outcome), code, `${call.kind} by ${sender}`);
  }
});

Deno.test("applyCalls() carries out all calls or none", () => {
  const account = after(CREATE);
  const outcome = run(account, [add(3), add(4), add(3)]);
  assertEquals(outcome, { kind: "abort", code: AbortCode.keyExists, at: 2 });
  const foreign: AccountCall = {
    ...OFF,
    kind: "deactivate_account",
    accountId: PACKAGE,
  };
  assertEquals(run(account, [add(3), foreign]), {
    kind: "abort",
    code: AbortCode.notOwner,
    at: 1,
  });
});

Deno.test("seal_approve lets the owner and delegates decrypt what is the account's", () => {
  const account = after(CREATE, add(3), remove(3), add(4));
  const delegate = addressOfKey(createKey(4));
  const removed = addressOfKey(createKey(3));
  const own = owner.address;
  const rows: readonly (readonly [Uint8Array, string, boolean])[] = [
    [identity(own), own, true],
    [identity(own, 0n), own, true],
    [identity(own, 1n), own, true],
    [identity(own, 1n), delegate, true],
    [identity(own), delegate, true],
    [addressBytes(own), delegate, true],
    // A future counter, the greatest one, another account's, none at all.
    [identity(own, 2n), own, false],
    [identity(own, 2n ** 64n - 1n), own, false],
    [identity(stranger.address, 0n), own, false],
    [identity(stranger.address), delegate, false],
    [new Uint8Array(0), own, false],
    [addressBytes(own).subarray(1), own, false],
    [Uint8Array.of(...addressBytes(own), 0, 0, 0, 0, 0, 0, 0), own, false],
    [identity(own), removed, false],
    [identity(own), stranger.address, false],
    [identity(stranger.address), stranger.address, false],
  ];
  for (const [id, sender, isFine] of rows) {
    const outcome = applyCall(approve(id), {
      ...{ packageId: PACKAGE, sender, nowMs: NOW, account },
    });
    assertEquals(getCode(outcome), isFine ? undefined : AbortCode.noAccess);
  }
  const off = after(CREATE, OFF);
  assertEquals(run(off, [approve(identity(own))]), {
    kind: "abort",
    code: AbortCode.deactivated,
    at: 0,
  });
});

Deno.test("isIdentityOf() reads the counter from a view into other bytes", () => {
  const state = { owner: owner.address, accessCounter: 258n };
  const id = identity(owner.address, 258n);
  const padded = Uint8Array.of(9, 9, 9, ...id, 9);
  assert(isIdentityOf(padded.subarray(3, 3 + id.length), state));
  assert(!isIdentityOf(identity(owner.address, 259n), state));
});

Deno.test("readAccountCall() reads the forms of the newest clients and of earlier ones", async () => {
  const key = createKey(3);
  const address = addressOfKey(key);
  const added: AccountCall = {
    kind: "add_delegate_key",
    accountId,
    publicKey: key,
    label: "x",
  };
  const gone: AccountCall = {
    kind: "remove_delegate_key",
    accountId,
    publicKey: key,
  };
  const id = identity(owner.address, 0n);
  const asked: AccountCall = { kind: "seal_approve", accountId, id };
  const rows: readonly (readonly [Build, AccountCall])[] = [
    [
      (tx) => owner.call(tx, "create_account", [owner.registry(tx), clock(tx)]),
      { kind: "create_account" },
    ],
    [
      (tx) =>
        owner.call(tx, "add_delegate_key", [
          shared(tx, accountId),
          bytes(tx, key),
          tx.pure.address(address),
          tx.pure.string("x"),
          clock(tx),
        ]),
      added,
    ],
    [
      (tx) =>
        owner.call(tx, "add_delegate_key", [
          shared(tx, accountId),
          owner.registry(tx),
          bytes(tx, key),
          tx.pure.string("x"),
          clock(tx),
        ]),
      added,
    ],
    [
      (tx) =>
        owner.call(tx, "remove_delegate_key", [
          shared(tx, accountId),
          bytes(tx, key),
        ]),
      gone,
    ],
    [
      (tx) =>
        owner.call(tx, "remove_delegate_key", [
          shared(tx, accountId),
          owner.registry(tx),
          bytes(tx, key),
        ]),
      gone,
    ],
    [
      (tx) => owner.call(tx, "deactivate_account", [shared(tx, accountId)]),
      OFF,
    ],
    [
      (tx) =>
        owner.call(tx, "seal_approve", [bytes(tx, id), shared(tx, accountId)]),
      asked,
    ],
    [
      (tx) =>
        owner.call(tx, "seal_approve", [
          bytes(tx, id),
          owner.registry(tx),
          shared(tx, accountId),
        ]),
      asked,
    ],
    [
      (tx) =>
        owner.call(tx, "seal_approve", [
          bytes(tx, id),
          shared(tx, accountId),
          owner.registry(tx),
        ]),
      asked,
    ],
  ];
  for (const [build, call] of rows) {
    assertEquals(await readOne(build), { kind: "ok", call });
  }
});

Deno.test("readAccountCall() refuses other calls and other arguments", async () => {
  const key = createKey(3);
  const builds: readonly Build[] = [
    (tx) => tx.moveCall({ target: `0x2::account::create_account` }),
    (tx) => tx.moveCall({ target: `${PACKAGE}::other::create_account` }),
    (tx) => owner.call(tx, "migrate_account", [shared(tx, accountId)]),
    (tx) => owner.call(tx, "toString", []),
    (tx) => owner.call(tx, "create_account", [clock(tx), owner.registry(tx)]),
    (tx) => owner.call(tx, "deactivate_account", [clock(tx)]),
    (tx) => owner.call(tx, "deactivate_account", []),
    (tx) =>
      owner.call(tx, "remove_delegate_key", [
        shared(tx, accountId),
        tx.pure.u64(1),
      ]),
    // The address is another key's.
    (tx) =>
      owner.call(tx, "add_delegate_key", [
        shared(tx, accountId),
        bytes(tx, key),
        tx.pure.address(owner.address),
        tx.pure.string("x"),
        clock(tx),
      ]),
    // The label is not UTF-8.
    (tx) =>
      owner.call(tx, "add_delegate_key", [
        shared(tx, accountId),
        owner.registry(tx),
        bytes(tx, key),
        bytes(tx, Uint8Array.of(0xff)),
        clock(tx),
      ]),
    // Bytes are left over.
    (tx) =>
      owner.call(tx, "remove_delegate_key", [
        shared(tx, accountId),
        tx.pure(Uint8Array.of(1, 2, 3)),
      ]),
  ];
  for (const build of builds) {
    assertEquals((await readOne(build)).kind, "invalid", String(build));
  }
});

type Build = Parameters<TransactionSigner["sign"]>[0];

async function readOne(build: Build) {
  const { data } = await owner.sign(build);
  const read = readTransaction(data);
  assert(read.kind === "ok", Deno.inspect(read));
  const [call] = read.value.calls;
  assert(call !== undefined);
  return readAccountCall(call, { packageId: PACKAGE });
}
