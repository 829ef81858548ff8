import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { RemoteCatalog } from "../relayer/ledger/remote_catalog.ts";
import {
  createEntry,
  testBlobCatalog,
} from "../relayer/ledger/testing/catalog_conformance.ts";
import { withLedger } from "../relayer/ledger/testing/open_test_ledger.ts";
import { embeddedLedger, member } from "./testing/embedded_ledger.ts";

const CREDENTIAL = "c".repeat(32);

testBlobCatalog({
  name: "RemoteCatalog",
  withCatalog: (use) =>
    withLedger(async ({ file }) => {
      const { answerRpc } = embeddedLedger(file);
      const catalog = new RemoteCatalog({
        url: "http://ledger.example/rpc",
        credential: CREDENTIAL,
        clock: new FakeClock(),
        async fetch(_url, init) {
          const headers = new Headers(init.headers);
          assertEquals(headers.get("authorization"), `Bearer ${CREDENTIAL}`);
          const caller = { from: "192.0.2.1", isTrusted: true };
          const body = JSON.parse(String(init.body));
          return Response.json(await answerRpc(body, caller));
        },
      });
      await use(catalog);
    }),
});

Deno.test("catalogue methods refuse what is no entry, no id and no page", async () => {
  await withLedger(async ({ file }) => {
    const { answerRpc } = embeddedLedger(file);
    const entry = createEntry({ memoryId: "m1" });
    const calls: readonly (readonly [string, readonly unknown[]])[] = [
      ["tercet_catalogAdd", []],
      ["tercet_catalogAdd", [{ ...entry, owner: 5 }]],
      ["tercet_catalogAdd", [{ ...entry, owner: "x".repeat(2_000) }]],
      ["tercet_catalogAdd", [{ ...entry, sizeBytes: 1.5 }]],
      ["tercet_catalogRemove", ["0xann"]],
      ["tercet_catalogEntry", [{}, "m1"]],
      ["tercet_catalogHolders", [null]],
      ["tercet_catalogList", ["0xann", { namespace: "a", limit: 101 }]],
      ["tercet_catalogList", ["0xann", {
        namespace: "a",
        limit: 1,
        after: {},
      }]],
    ];
    for (const [method, params] of calls) {
      const body = { jsonrpc: "2.0", id: 1, method, params };
      for (const isTrusted of [true, false]) {
        const reply = await answerRpc(body, { from: "192.0.2.1", isTrusted });
        const code = member(member(reply, "error"), "code");
        assertEquals(code, isTrusted ? -32602 : -32601, method);
      }
    }
  });
});
