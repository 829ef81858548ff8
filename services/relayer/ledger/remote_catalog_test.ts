import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { type BlobCatalog, BlobStoreError } from "../blobs/blob_store.ts";
import type { Fetch } from "../remote/http_call.ts";
import { RemoteCatalog } from "./remote_catalog.ts";
import { createEntry } from "./testing/catalog_conformance.ts";

const CREDENTIAL = "c".repeat(32);

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
    [() => reply([{ ...createEntry({}), createdAtMs: -1 }]), "cannot be read"],
    [() => reply([{ ...createEntry({}), importance: 2 }]), "cannot be read"],
    [() => reply([{ ...createEntry({}), sealedIndex: "!" }]), "cannot be read"],
    [
      () => reply(Array.from({ length: 11 }, () => createEntry({}))),
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
