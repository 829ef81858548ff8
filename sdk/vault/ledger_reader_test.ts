import { assert, assertEquals } from "@std/assert";
import { encodeBase64 } from "../memory/encodings.ts";
import { BcsWriter } from "./bcs.ts";
import {
  deriveKeyServerId,
  derivePublicKey,
  newMasterSecret,
} from "./identity_encryption.ts";
import { LedgerReader } from "./ledger_reader.ts";

const ACCOUNT_ID = `0x${"cd".repeat(32)}`;
const OWNER = `0x${"11".repeat(32)}`;
const DELEGATE = `0x${"22".repeat(32)}`;
const PUBLIC_KEY = derivePublicKey(newMasterSecret());
const SERVER_ID = deriveKeyServerId(PUBLIC_KEY);

type Answers = Readonly<Record<string, unknown>>;

/** A ledger that answers each method with the same data. */
function createReader(answers: Answers, status = 200): LedgerReader {
  return new LedgerReader({
    url: "http://ledger.test",
    fetch: (_url, init) => {
      const { id, method } = JSON.parse(String(init?.body));
      const answer = { jsonrpc: "2.0", id, ...createResult(answers[method]) };
      return Promise.resolve(Response.json(answer, { status }));
    },
  });
}

function createResult(data: unknown): Readonly<Record<string, unknown>> {
  return data instanceof Error
    ? { error: { code: -32_603, message: data.message } }
    : { result: data === undefined ? { error: {} } : { data } };
}

function accountData(
  fields: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    owner: { Shared: { initial_shared_version: "7" } },
    content: {
      type: "0xabc::account::MemWalAccount",
      fields: {
        owner: OWNER,
        active: true,
        access_counter_version: "3",
        delegate_keys: [{ fields: { sui_address: DELEGATE } }],
        ...fields,
      },
    },
  };
}

function bytesData(writer: BcsWriter): unknown {
  return { bcs: { bcsBytes: encodeBase64(writer.toBytes()) } };
}

function keyServerAnswers(
  { first = 1n, last = 2n, field = secondEntry() }: {
    readonly first?: bigint;
    readonly last?: bigint;
    readonly field?: BcsWriter;
  } = {},
): Answers {
  const parent = new BcsWriter().address(SERVER_ID).u64(first).u64(last);
  return {
    sui_getObject: bytesData(parent),
    suix_getDynamicFieldObject: bytesData(field),
  };
}

function secondEntry(publicKey = PUBLIC_KEY): BcsWriter {
  return new BcsWriter().address(ACCOUNT_ID).u64(2n).string("one").u8(0)
    .byteVector(publicKey).length(0).string("http://one.test/");
}

function firstEntry(): BcsWriter {
  return new BcsWriter().address(ACCOUNT_ID).u64(1n).string("one")
    .string("http://old.test").u8(0).byteVector(PUBLIC_KEY);
}

function committeeEntry(): BcsWriter {
  return new BcsWriter().address(ACCOUNT_ID).u64(2n).string("many").u8(0)
    .byteVector(PUBLIC_KEY).length(1).u32(1).u16(2).length(0);
}

Deno.test("account() reads an account of either contract", async () => {
  const read = await createReader({ sui_getObject: accountData() })
    .account(ACCOUNT_ID);
  assertEquals(read, {
    kind: "ok",
    value: {
      accountId: ACCOUNT_ID,
      initialVersion: 7n,
      packageId: "0xabc",
      owner: OWNER,
      isActive: true,
      delegates: [DELEGATE],
      accessCounter: 3n,
    },
  });
  const old = accountData({
    active: undefined,
    access_counter_version: undefined,
  });
  const other = await createReader({ sui_getObject: old }).account(ACCOUNT_ID);
  assert(other.kind === "ok");
  assertEquals([other.value.isActive, other.value.accessCounter], [
    true,
    undefined,
  ]);
});

Deno.test("account() says that there is none, or why it cannot be read", async () => {
  const readKind = async (reader: LedgerReader) =>
    (await reader.account(ACCOUNT_ID)).kind;
  assertEquals(await readKind(createReader({})), "missing");
  assertEquals(await readKind(createReader({}, 500)), "failed");
  assertEquals(await readKind(createReader({ sui_getObject: {} })), "failed");
  const error = new Error("busy");
  assertEquals(
    await readKind(createReader({ sui_getObject: error })),
    "failed",
  );
  const away = new LedgerReader({
    url: "http://ledger.test",
    fetch: () => Promise.reject(new TypeError("refused")),
  });
  assertEquals(await readKind(away), "failed");
});

Deno.test("keyServers() reads both versions, and committees with their aggregator", async () => {
  const options = { isSelfCertified: true };
  const choice = { objectId: SERVER_ID, weight: 2 };
  const second = await createReader(keyServerAnswers())
    .keyServers([choice], options);
  assert(second.kind === "ok");
  assertEquals(second.value[0]?.url, "http://one.test");
  assertEquals(second.value[0]?.weight, 2);
  assertEquals(second.value[0]?.publicKey, PUBLIC_KEY);
  const first = await createReader(
    keyServerAnswers({ last: 1n, field: firstEntry() }),
  ).keyServers([choice], options);
  assert(first.kind === "ok");
  assertEquals(first.value[0]?.url, "http://old.test");
  const aggregatorUrl = "http://many.test";
  const committee = await createReader(
    keyServerAnswers({ field: committeeEntry() }),
  ).keyServers([{ ...choice, aggregatorUrl }], options);
  assert(committee.kind === "ok");
  assertEquals(committee.value[0]?.url, aggregatorUrl);
});

Deno.test("keyServers() refuses an id that is another key's where ids follow from keys", async () => {
  const other = derivePublicKey(newMasterSecret());
  const answers = keyServerAnswers({ field: secondEntry(other) });
  const choices = [{ objectId: SERVER_ID }];
  const read = (isSelfCertified: boolean) =>
    createReader(answers).keyServers(choices, { isSelfCertified });
  assertEquals((await read(true)).kind, "failed");
  assertEquals((await read(false)).kind, "ok");
});

Deno.test("keyServers() refuses what is not written as a key server", async () => {
  const cases: readonly Answers[] = [
    keyServerAnswers({ first: 3n, last: 4n }),
    keyServerAnswers({ field: firstEntry() }),
    keyServerAnswers({ field: secondEntry(new Uint8Array(96)) }),
    keyServerAnswers({ field: secondEntry(new Uint8Array(3)) }),
    keyServerAnswers({ field: committeeEntry() }),
    keyServerAnswers({ field: secondEntry().u8(0) }),
    { sui_getObject: {} },
    {},
  ];
  for (const [at, answers] of cases.entries()) {
    const read = await createReader(answers)
      .keyServers([{ objectId: SERVER_ID }], { isSelfCertified: false });
    assertEquals(read.kind, "failed", `case ${at}`);
  }
});
