import { assert, assertEquals, assertMatch } from "@std/assert";
import { withoutUndefined } from "../../../tests/support/without_undefined.ts";
import { makeSigner } from "../auth/testing/signer.ts";
import { memberOf as member } from "../remote/http_call.ts";
import { readAccountObject } from "./full_node_ledger.ts";
import { answerJsonRpc } from "./json_rpc.ts";
import { LocalLedger } from "./local_ledger.ts";
import { withLedger } from "./testing/open_test_ledger.ts";

type LedgerRecords = Parameters<typeof answerJsonRpc>[1];

const KEY = makeSigner(1).publicKey;
const SHOW_ALL = {
  showType: true,
  showOwner: true,
  showContent: true,
  showBcs: true,
  showPreviousTransaction: true,
};

Deno.test("sui_multiGetObjects gives the package in version 1, as clients check it", async () => {
  await withAccount(async (ledger) => {
    const { result } = record(
      await call(ledger, "sui_multiGetObjects", [[ledger.packageId], {
        showOwner: true,
        showType: true,
        showBcs: true,
        showPreviousTransaction: true,
      }]),
    );
    assert(Array.isArray(result));
    assertEquals(result.length, 1);
    const data = record(record(result[0])["data"]);
    assertEquals(data["objectId"], ledger.packageId);
    assertEquals(data["version"], "1");
    assertEquals(data["type"], "package");
    assertEquals(data["owner"], "Immutable");
    assertMatch(String(data["digest"]), /^[1-9A-HJ-NP-Za-km-z]{40,44}$/);
    assert("previousTransaction" in data && "bcs" in data);
  });
});

Deno.test("sui_getObject gives an account's fields", async () => {
  await withAccount(async (ledger, accountId) => {
    const answer = await call(ledger, "sui_getObject", [accountId, SHOW_ALL]);
    const content = member(member(member(answer, "result"), "data"), "content");
    const fields = record(member(content, "fields"));
    assertEquals(fields["active"], true);
    assertEquals(fields["created_at"], "1800000000000");
    const keys = fields["delegate_keys"];
    assert(Array.isArray(keys));
    const key = record(member(keys[0], "fields"));
    assertEquals(key["public_key"], [...Uint8Array.fromHex(KEY)]);
    assertEquals(key["label"], "laptop");
    assertEquals(key["sui_address"], fields["owner"]);
  });
});

Deno.test("sui_getObject gives what the reader of full nodes reads", async () => {
  await withAccount(async (ledger, accountId) => {
    const { result } = record(
      await call(ledger, "sui_getObject", [accountId, SHOW_ALL]),
    );
    const { packageId } = ledger;
    const read = readAccountObject(result, { accountId, packageId });
    assert(read.kind === "ok");
    const written = ledger.record(accountId);
    assertEquals(read.account.accountId, written?.accountId);
    assertEquals(read.account.owner, written?.owner);
    assertEquals(read.account.isActive, true);
    assertEquals(read.account.delegateKeys[0]?.publicKey, KEY);
  });
});

Deno.test("sui_getObject leaves out what is not asked for", async () => {
  await withAccount(async (ledger, accountId) => {
    for (const id of [accountId, ledger.packageId]) {
      for (const options of [undefined, null, {}, { showType: "yes" }]) {
        const answer = await call(ledger, "sui_getObject", [id, options]);
        const data = record(member(member(answer, "result"), "data"));
        assertEquals(Object.keys(withoutUndefined(data)).sort(), [
          "digest",
          "objectId",
          "version",
        ]);
      }
    }
  });
});

Deno.test("sui_getObject says which object there is not", async () => {
  await withAccount(async (ledger) => {
    assertEquals(await call(ledger, "sui_getObject", ["0x5"]), {
      jsonrpc: "2.0",
      id: 7,
      result: {
        error: { code: "notExists", object_id: `0x${"0".repeat(63)}5` },
      },
    });
  });
});

Deno.test("answerJsonRpc() answers what it does not understand with its code", async () => {
  await withAccount(async (ledger, accountId) => {
    const cases: readonly (readonly [unknown, number])[] = [
      [undefined, -32600],
      [null, -32600],
      ["x", -32600],
      [[], -32600],
      [Array.from({ length: 51 }, () => ({})), -32600],
      [{}, -32600],
      [{ jsonrpc: "1.0", id: 1, method: "sui_getObject" }, -32600],
      [{ jsonrpc: "2.0", id: {}, method: "sui_getObject" }, -32600],
      [{ jsonrpc: "2.0", id: 1, method: 5 }, -32600],
      [request("sui_executeTransactionBlock"), -32601],
      [request("toString"), -32601],
      [request("__proto__"), -32601],
      [request("sui_getObject"), -32602],
      [request("sui_getObject", { id: accountId }), -32602],
      [request("sui_getObject", [5]), -32602],
      [request("sui_getObject", ["0x"]), -32602],
      [request("sui_multiGetObjects", ["0x1"]), -32602],
      [request("sui_multiGetObjects", [["0x1", null]]), -32602],
    ];
    for (const [body, code] of cases) {
      const answer = await answerJsonRpc(body, ledger);
      assertEquals(member(member(answer, "error"), "code"), code);
    }
  });
});

Deno.test("answerJsonRpc() bounds the objects of a body over all its calls", async () => {
  await withAccount(async (ledger, accountId) => {
    const fifty = Array.from({ length: 50 }, () => accountId);
    const full = await call(ledger, "sui_multiGetObjects", [fifty]);
    assert(Array.isArray(record(full)["result"]));
    const more = [...fifty, accountId];
    const refused = await call(ledger, "sui_multiGetObjects", [more]);
    assertEquals(member(member(refused, "error"), "code"), -32602);
    const list = await answerJsonRpc([
      request("sui_multiGetObjects", [fifty]),
      request("sui_getObject", [accountId]),
    ], ledger);
    assert(Array.isArray(list));
    assertEquals(
      list.map((answer) => member(member(answer, "error"), "code")),
      [undefined, -32602],
    );
  });
});

Deno.test("answerJsonRpc() answers lists in order and leaves out who wants no answer", async () => {
  await withAccount(async (ledger) => {
    const silent = { jsonrpc: "2.0", method: "sui_getChainIdentifier" };
    const asked = { ...silent, id: "a" };
    const answer = await answerJsonRpc([asked, silent, 5], ledger);
    assert(Array.isArray(answer));
    assertEquals(answer.map((one) => member(one, "id")), ["a", null]);
    assertMatch(String(member(answer[0], "result")), /^[0-9a-f]{8}$/);
    assertEquals(await answerJsonRpc(silent, ledger), undefined);
    assertEquals(await answerJsonRpc([silent], ledger), undefined);
  });
});

Deno.test("answerJsonRpc() tells strangers nothing of a ledger that fails", async () => {
  const ledger: LedgerRecords = {
    packageId: "0x1",
    record: () => Promise.reject(new Error("/data/ledger.db: disk I/O error")),
  };
  const answer = await call(ledger, "sui_getObject", ["0x2"]);
  assertEquals(member(member(answer, "error"), "code"), -32603);
  assertEquals(JSON.stringify(answer).includes("disk"), false);
});

async function withAccount(
  test: (ledger: LocalLedger, accountId: string) => Promise<void>,
): Promise<void> {
  await withLedger(async ({ file }) => {
    const ledger = new LocalLedger(file);
    const made = ledger.createAccount({
      publicKey: KEY,
      label: "laptop",
    });
    assert(made.kind === "ok");
    await test(ledger, made.account.accountId);
  });
}

function request(method: string, params?: unknown): unknown {
  return {
    jsonrpc: "2.0",
    id: 7,
    method,
    ...(params === undefined ? {} : { params }),
  };
}

function call(
  ledger: LedgerRecords,
  ...[method, params]: [string, unknown]
): Promise<unknown> {
  return answerJsonRpc(request(method, params), ledger);
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  assert(typeof value === "object" && value !== null);
  return { ...value };
}
