import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { type BlobCatalog, BlobStoreError } from "../blobs/blob_store.ts";
import type { Fetch } from "../remote/http_call.ts";
import { catalogMethods } from "./catalog_methods.ts";
import { answerJsonRpc } from "./json_rpc.ts";
import { LocalCatalog } from "./local_catalog.ts";
import { RemoteCatalog } from "./remote_catalog.ts";
import { entryOf, testBlobCatalog } from "./testing/catalog_conformance.ts";
import { embeddedLedger } from "./testing/embedded_ledger.ts";
import { withLedger } from "./testing/open_test_ledger.ts";

const CREDENTIAL = "c".repeat(32);

testBlobCatalog({
  name: "RemoteCatalog",
  withCatalog: (use) =>
    withLedger(async ({ file }) => {
      const embedded = embeddedLedger(file);
      const own = catalogMethods(new LocalCatalog(file));
      await use(remote(async (_url, init) => {
        const headers = new Headers(init.headers);
        assertEquals(headers.get("authorization"), `Bearer ${CREDENTIAL}`);
        const reply = await answerJsonRpc(
          JSON.parse(String(init.body)),
          embedded,
          { from: "192.0.2.1", own },
        );
        return Response.json(reply);
      }));
    }),
});

function remote(fetch: Fetch): BlobCatalog {
  return new RemoteCatalog({
    url: "http://ledger.example/rpc",
    credential: CREDENTIAL,
    fetch,
    clock: new FakeClock(),
  });
}

Deno.test("RemoteCatalog says what is wrong with a ledger, and that it may pass", async () => {
  const reply = (result: unknown) =>
    Response.json({ jsonrpc: "2.0", id: 1, result });
  const answers: readonly (readonly [() => Response, string])[] = [
    [() => new Response(null, { status: 401 }), "LEDGER_CREDENTIAL"],
    [() => new Response(null, { status: 503 }), "status 503"],
    [() => new Response("hello"), "cannot be read"],
    [() => Response.json({}), "cannot be read"],
    [() => Response.json({ error: { message: "no" } }), "it says no"],
    [() => reply([{}]), "cannot be read"],
    [() => reply([{ ...entryOf({}), createdAtMs: -1 }]), "cannot be read"],
    [() => reply([{ ...entryOf({}), importance: 2 }]), "cannot be read"],
    [() => reply([{ ...entryOf({}), sealedIndex: "!" }]), "cannot be read"],
    [
      () => reply(Array.from({ length: 11 }, () => entryOf({}))),
      "cannot be read",
    ],
    [
      () => {
        throw new TypeError("connection refused");
      },
      "connection refused",
    ],
  ];
  for (const [answer, words] of answers) {
    const catalog = remote(() => Promise.resolve().then(answer));
    const error = await assertRejects(
      () => catalog.list("0xann", { namespace: "default", limit: 10 }),
      BlobStoreError,
      words,
    );
    assert(error.isPassing && !error.isLocal);
    assertEquals(error.message.includes(CREDENTIAL), false);
  }
});

Deno.test("catalogue methods refuse what is no entry, no id and no page", async () => {
  await withLedger(async ({ file }) => {
    const embedded = embeddedLedger(file);
    const own = catalogMethods(new LocalCatalog(file));
    const entry = entryOf({ memoryId: "m1" });
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
      const caller = { from: "192.0.2.1", own };
      const reply = await answerJsonRpc(body, embedded, caller);
      assertEquals(
        Reflect.get(Object(Reflect.get(Object(reply), "error")), "code"),
        -32602,
        method,
      );
      const stranger = await answerJsonRpc(body, embedded, {
        from: "192.0.2.1",
      });
      assertEquals(
        Reflect.get(Object(Reflect.get(Object(stranger), "error")), "code"),
        -32601,
      );
    }
  });
});
