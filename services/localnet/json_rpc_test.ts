import { assert, assertEquals, assertMatch } from "@std/assert";
import { withoutUndefined } from "../../tests/support/without_undefined.ts";
import { LOCAL_PACKAGE_ID } from "../shared/ledger/account_contract.ts";
import { TransactionSigner } from "../shared/ledger/testing/transaction_signer.ts";
import { readAccountObject } from "../relayer/ledger/full_node_ledger.ts";
import {
  type EmbeddedLedger,
  embeddedLedger,
  member,
} from "./testing/embedded_ledger.ts";
import { withLedger } from "../relayer/ledger/testing/open_test_ledger.ts";

const KEY = new TransactionSigner({ seed: 1, packageId: LOCAL_PACKAGE_ID })
  .publicKey.toHex();
const CALLER = { from: "192.0.2.1" };
const SHOW_ALL = {
  showType: true,
  showOwner: true,
  showContent: true,
  showBcs: true,
  showPreviousTransaction: true,
};

Deno.test("sui_multiGetObjects gives the package in version 1, as clients check it", async () => {
  await withAccount(async (embedded) => {
    const { result } = record(
      await call(embedded, "sui_multiGetObjects", [
        [embedded.ledger.packageId],
        {
          showOwner: true,
          showType: true,
          showBcs: true,
          showPreviousTransaction: true,
        },
      ]),
    );
    assert(Array.isArray(result));
    assertEquals(result.length, 1);
    const data = record(record(result[0])["data"]);
    assertEquals(data["objectId"], embedded.ledger.packageId);
    assertEquals(data["version"], "1");
    assertEquals(data["type"], "package");
    assertEquals(data["owner"], "Immutable");
    assertMatch(String(data["digest"]), /^[1-9A-HJ-NP-Za-km-z]{40,44}$/);
    assert("previousTransaction" in data && "bcs" in data);
  });
});

Deno.test("sui_getObject gives an account's fields", async () => {
  await withAccount(async (embedded, accountId) => {
    const answer = await call(embedded, "sui_getObject", [accountId, SHOW_ALL]);
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
  await withAccount(async (embedded, accountId) => {
    const { result } = record(
      await call(embedded, "sui_getObject", [accountId, SHOW_ALL]),
    );
    const { packageId } = embedded.ledger;
    const read = readAccountObject(result, { accountId, packageId });
    assert(read.kind === "ok");
    const written = embedded.ledger.record(accountId);
    assertEquals(read.account.accountId, written?.accountId);
    assertEquals(read.account.owner, written?.owner);
    assertEquals(read.account.isActive, true);
    assertEquals(read.account.delegateKeys[0]?.publicKey, KEY);
  });
});

Deno.test("sui_getObject leaves out what is not asked for", async () => {
  await withAccount(async (embedded, accountId) => {
    for (const id of [accountId, embedded.ledger.packageId]) {
      for (const options of [undefined, null, {}, { showType: "yes" }]) {
        const answer = await call(embedded, "sui_getObject", [id, options]);
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
  await withAccount(async (embedded) => {
    assertEquals(await call(embedded, "sui_getObject", ["0x5"]), {
      jsonrpc: "2.0",
      id: 7,
      result: {
        error: { code: "notExists", object_id: `0x${"0".repeat(63)}5` },
      },
    });
  });
});

Deno.test("openRpc() answers what it does not understand with its code", async () => {
  await withAccount(async (embedded, accountId) => {
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
      [request("sui_publish"), -32601],
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
      const answer = await embedded.answerRpc(body, CALLER);
      assertEquals(member(member(answer, "error"), "code"), code);
    }
  });
});

Deno.test("openRpc() bounds the objects of a body over all its calls", async () => {
  await withAccount(async (embedded, accountId) => {
    const fifty = Array.from({ length: 50 }, () => accountId);
    const full = await call(embedded, "sui_multiGetObjects", [fifty]);
    assert(Array.isArray(record(full)["result"]));
    const more = [...fifty, accountId];
    const refused = await call(embedded, "sui_multiGetObjects", [more]);
    assertEquals(member(member(refused, "error"), "code"), -32602);
    const list = await embedded.answerRpc([
      request("sui_multiGetObjects", [fifty]),
      request("sui_getObject", [accountId]),
    ], CALLER);
    assert(Array.isArray(list));
    assertEquals(
      list.map((answer) => member(member(answer, "error"), "code")),
      [undefined, -32602],
    );
  });
});

Deno.test("openRpc() answers lists in order and leaves out who wants no answer", async () => {
  await withAccount(async (embedded) => {
    const silent = { jsonrpc: "2.0", method: "sui_getChainIdentifier" };
    const asked = { ...silent, id: "a" };
    const answer = await embedded.answerRpc([asked, silent, 5], CALLER);
    assert(Array.isArray(answer));
    assertEquals(answer.map((one) => member(one, "id")), ["a", null]);
    assertMatch(String(member(answer[0], "result")), /^[0-9a-f]{8}$/);
    assertEquals(await embedded.answerRpc(silent, CALLER), undefined);
    assertEquals(await embedded.answerRpc([silent], CALLER), undefined);
  });
});

Deno.test("openRpc() tells strangers nothing of a ledger that fails", async () => {
  await withLedger(async ({ file, path }) => {
    const embedded = embeddedLedger(file);
    await file.close();
    const answer = await call(embedded, "sui_getObject", ["0x2"]);
    assertEquals(member(member(answer, "error"), "code"), -32603);
    assertEquals(JSON.stringify(answer).includes(path), false);
    // The operator's handler gets the error.
    assertEquals(embedded.faults.length, 1);
  });
});

Deno.test("openRpc() bounds what a body reads and runs, whatever it is", async () => {
  await withAccount(async (embedded) => {
    const page = request("suix_queryTransactionBlocks", [{}, null, 30]);
    const trial = request("sui_dryRunTransactionBlock", ["AAAA"]);
    const codes = async (calls: readonly unknown[]) => {
      const answers = await embedded.answerRpc(calls, CALLER);
      assert(Array.isArray(answers));
      return answers.map((one) => member(member(one, "error"), "code"));
    };
    assertEquals(await codes([page, page]), [undefined, -32602]);
    assertEquals(
      await codes(Array.from({ length: 7 }, () => trial)),
      [-32002, -32002, -32002, -32002, -32002, -32602, -32602],
    );
  });
});

Deno.test("openRpc() refuses parameters that are not what methods take", async () => {
  await withAccount(async (embedded) => {
    const { ledger } = embedded;
    const digest = "1".repeat(32);
    const cases: readonly (readonly [string, readonly unknown[], number])[] = [
      ["sui_executeTransactionBlock", [], -32602],
      ["sui_executeTransactionBlock", ["!", ["AA=="]], -32602],
      ["sui_executeTransactionBlock", ["AAAA", "AA=="], -32602],
      ["sui_executeTransactionBlock", ["AAAA", ["AA==", "AA=="]], -32602],
      ["sui_executeTransactionBlock", ["AAAA", ["AA=="]], -32002],
      ["sui_executeTransactionBlock", ["A".repeat(50_000), ["AA=="]], -32602],
      ["sui_dryRunTransactionBlock", [{}], -32602],
      ["sui_devInspectTransactionBlock", ["me", "AAAA"], -32602],
      ["sui_devInspectTransactionBlock", ["0x1", "AAAA"], -32002],
      ["sui_getTransactionBlock", ["0"], -32602],
      ["sui_getTransactionBlock", [digest], -32602],
      ["sui_multiGetTransactionBlocks", [digest], -32602],
      [
        "suix_queryTransactionBlocks",
        [{ filter: { ToAddress: "0x1" } }],
        -32602,
      ],
      ["suix_queryTransactionBlocks", [{}, digest], -32602],
      ["suix_queryTransactionBlocks", [{}, null, 0], -32602],
      ["suix_queryTransactionBlocks", [{}, null, 1.5], -32602],
      ["suix_queryEvents", [{ Sender: "0x1" }], -32602],
      ["suix_queryEvents", [{ All: [] }, { txDigest: digest }], -32602],
      ["suix_getCoins", ["x"], -32602],
      ["suix_getDynamicFieldObject", ["0x1", { type: "u8", value: 1 }], -32602],
      ["suix_getDynamicFieldObject", ["0x1", {
        type: "u64",
        value: "9".repeat(30),
      }], -32602],
      ["sui_getCheckpoint", ["99"], -32602],
      ["sui_getCheckpoint", [{}], -32602],
      [
        "sui_getNormalizedMoveFunction",
        ["0x2", "account", "create_account"],
        -32602,
      ],
      ["sui_getNormalizedMoveFunction", [
        ledger.packageId,
        "account",
        "toString",
      ], -32602],
      ["tercet_catalogAdd", [{}], -32601],
    ];
    for (const [method, params, code] of cases) {
      const answer = await embedded.call(method, ...params);
      assertEquals(
        member(member(answer, "error"), "code"),
        code,
        `${method} ${JSON.stringify(params)}`,
      );
    }
  });
});

async function withAccount(
  test: (embedded: EmbeddedLedger, accountId: string) => Promise<void>,
): Promise<void> {
  await withLedger(async ({ file }) => {
    const embedded = embeddedLedger(file);
    const made = embedded.ledger.createAccount({
      publicKey: KEY,
      label: "laptop",
    });
    assert(made.kind === "ok");
    await test(embedded, made.account.accountId);
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
  embedded: EmbeddedLedger,
  ...[method, params]: [string, unknown]
): Promise<unknown> {
  return embedded.answerRpc(request(method, params), CALLER);
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  assert(typeof value === "object" && value !== null);
  return { ...value };
}
