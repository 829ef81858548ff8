import { assertEquals } from "@std/assert";
import { startBlobServers } from "../../services/relayer/blobs/testing/blob_servers.ts";
import { onStores } from "../relayer/on_stores.ts";
import {
  createAccount,
  type RelayerAccount,
  startRelayer,
} from "../support/relayer_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { TempFolder } from "./temp_folder.ts";

/** The bytes before the seed in a PKCS #8 document (RFC 8410, 7). */
const PKCS8_PREFIX = "302e020100300506032b657004220420";

interface Call {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Sends a request as the oldest released client does: it signs four fields, has
 * no nonce, names the account without signing it, and sends the private key
 * along.
 */
async function send(
  serverUrl: string,
  account: RelayerAccount,
  { path, body }: Call,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const text = JSON.stringify(body);
  const bytes = new TextEncoder().encode(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = await crypto.subtle.importKey(
    "pkcs8",
    Uint8Array.fromHex(PKCS8_PREFIX + account.key),
    "Ed25519",
    false,
    ["sign"],
  );
  const signed = `${timestamp}.POST.${path}.${hash.toHex()}`;
  const signature = await crypto.subtle.sign(
    "Ed25519",
    key,
    new TextEncoder().encode(signed),
  );
  const response = await fetch(serverUrl + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-public-key": account.publicKey,
      "x-signature": new Uint8Array(signature).toHex(),
      "x-timestamp": timestamp,
      "x-delegate-key": account.key,
      "x-account-id": account.accountId,
    },
    body: text,
  });
  const answer = await response.text();
  return {
    status: response.status,
    json: answer === "" ? undefined : JSON.parse(answer),
  };
}

const REMEMBER: Call = {
  path: "/api/remember",
  body: { text: "Ada drinks tea", namespace: "default" },
};
const RECALL: Call = {
  path: "/api/recall",
  body: { query: "What does Ada drink?", limit: 10, namespace: "default" },
};

Deno.test("the relayer tells the oldest client that it is too old", async () => {
  await using folder = await TempFolder.make();
  const account = await createAccount({ dataDir: folder.path });
  await using relayer = await startRelayer({ dataDir: folder.path });
  assertEquals(await send(relayer.url, account, REMEMBER), {
    status: 426,
    json: undefined,
  });
});

onStores({
  name: "the oldest client is served",
  timeout: 240_000,
  fn: async (storage, t) => {
    await using folder = await TempFolder.make();
    await using blobs = startBlobServers();
    const place = { dataDir: folder.path, env: storage(folder.path).env };
    const account = await createAccount(place);
    await using relayer = await startRelayer({
      dataDir: folder.path,
      env: {
        ...place.env,
        LEGACY_AUTH: "true",
        BLOB_PUBLISHER_URL: blobs.url,
        BLOB_AGGREGATOR_URLS: blobs.url,
      },
    });
    await t.step(
      "the relayer serves the oldest client when LEGACY_AUTH is on",
      async () => {
        assertEquals((await send(relayer.url, account, REMEMBER)).status, 202);
        let attempt = 0;
        await waitUntil(async () => {
          // The body changes with each attempt, since without a nonce a repeated
          // request would be refused as a replay.
          const call = {
            ...RECALL,
            body: { ...RECALL.body, limit: ++attempt },
          };
          const { status, json } = await send(relayer.url, account, call);
          assertEquals(status, 200);
          const results: unknown = Reflect.get(Object(json), "results");
          const [first] = Array.isArray(results) ? results : [];
          return Reflect.get(Object(first), "text") === "Ada drinks tea";
        }, { what: "the memory", intervalMs: 100 });
      },
    );
    await t.step(
      "the oldest client remembers a blob that it has put into the blob store itself",
      async () => {
        const put = await fetch(`${blobs.url}/v1/blobs?epochs=5`, {
          method: "PUT",
          body: Uint8Array.of(1, 2, 3),
        });
        const { newlyCreated: { blobObject: { blobId } } } = await put.json();
        const vector = Array<number>(1_536).fill(0.5);
        const claim = (namespace: string, blob_id: string) =>
          send(relayer.url, account, {
            path: "/api/remember/manual",
            body: { blob_id, vector, namespace },
          });
        const { status, json } = await claim("default", blobId);
        assertEquals([status, Reflect.get(Object(json), "blob_id")], [
          200,
          blobId,
        ]);
        assertEquals((await claim("default", "missing")).status, 400);
        const found = await send(relayer.url, account, {
          path: "/api/recall/manual",
          body: { vector, limit: 5, namespace: "default" },
        });
        const [first] = Reflect.get(Object(found.json), "results");
        assertEquals(Reflect.get(Object(first), "blob_id"), blobId);
      },
    );
  },
});
