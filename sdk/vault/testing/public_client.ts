/**
 * The public client of these key servers, over a ledger that knows only the key
 * servers of a test.
 *
 * @module
 */

import { bcs } from "npm:@mysten/bcs@^2.1.2";
import { SealClient, SessionKey } from "npm:@mysten/seal@^1.4.12";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import type { KeyServer } from "../key_server_client.ts";
import { addressBytes } from "../bcs.ts";

type PublicLedger = ConstructorParameters<typeof SealClient>[0]["suiClient"];

const KEY_SERVER = bcs.struct("KeyServer", {
  id: bcs.bytes(32),
  firstVersion: bcs.u64(),
  lastVersion: bcs.u64(),
});
const KEY_SERVER_V1 = bcs.struct("KeyServerV1", {
  name: bcs.string(),
  url: bcs.string(),
  keyType: bcs.u8(),
  publicKey: bcs.byteVector(),
});

/** Creates the public client for key servers of a test. */
export function publicClient(
  keyServers: readonly KeyServer[],
  fetch: typeof globalThis.fetch,
): SealClient {
  return new SealClient({
    suiClient: publicLedger(keyServers),
    serverConfigs: keyServers.map(({ objectId, weight = 1 }) => ({
      objectId,
      weight,
    })),
    verifyKeyServers: true,
    fetch,
  });
}

/** Creates a session of the public client for a private key. */
export async function publicSession(
  seed: Uint8Array,
  packageId: string,
): Promise<SessionKey> {
  const signer = Ed25519Keypair.fromSecretKey(seed);
  return await SessionKey.create({
    address: signer.toSuiAddress(),
    packageId,
    ttlMin: 10,
    signer,
    suiClient: publicLedger([]),
  });
}

function publicLedger(keyServers: readonly KeyServer[]): PublicLedger {
  const core = {
    getObject({ objectId }: { readonly objectId: string }) {
      const content = KEY_SERVER.serialize({
        id: addressBytes(objectId),
        firstVersion: 1,
        lastVersion: 1,
      }).toBytes();
      return Promise.resolve({ object: { objectId, version: "1", content } });
    },
    getDynamicField({ parentId }: { readonly parentId: string }) {
      const server = keyServers.find(({ objectId }) => objectId === parentId);
      if (server === undefined) throw new TypeError("no such key server");
      const value = KEY_SERVER_V1.serialize({
        name: "test",
        url: server.url,
        keyType: 0,
        publicKey: server.publicKey,
      }).toBytes();
      return Promise.resolve({ dynamicField: { value: { bcs: value } } });
    },
  };
  // The public client calls nothing else of a ledger.
  return { core } as unknown as PublicLedger;
}
