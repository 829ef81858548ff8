/**
 * Key servers as objects of the embedded ledger: each has an object of its own,
 * and below it one entry for each version of the format that clients read.
 *
 * @module
 */

import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import type { KeyServerRow } from "./account_rows.ts";
import {
  entryIdOf,
  type MoveObject,
  objectOf,
  SHARED,
} from "./move_objects.ts";

/**
 * The module of key servers; it has the same address of its own on every
 * ledger.
 */
const KEY_SERVER_MODULE = "0x5ea1::key_server";
/** The versions of entries that each key server has. */
const KEY_SERVER_VERSIONS = [1n, 2n] as const;
/** The type of key: Boneh-Franklin over BLS12-381. */
const KEY_TYPE = 0;

/** The ids of a key server's entries, in order of their versions. */
export function keyServerEntryIds(objectId: string): [string, string] {
  const [first, second] = KEY_SERVER_VERSIONS;
  return [
    keyServerEntryId(objectId, first),
    keyServerEntryId(objectId, second),
  ];
}

function keyServerEntryId(objectId: string, version: bigint): string {
  const bytes = new BcsWriter().u64(version).toBytes();
  return entryIdOf(objectId, { type: "u64", bytes });
}

/**
 * Returns the key server's object, or the one of its entries, that has this id;
 * undefined when none has.
 */
export function keyServerObject(
  server: KeyServerRow,
  objectId: string,
): MoveObject | undefined {
  if (objectId === server.objectId) return keyServerParent(server);
  const at = keyServerEntryIds(server.objectId).indexOf(objectId);
  const version = KEY_SERVER_VERSIONS[at];
  return version && keyServerEntry(server, { objectId, version });
}

function keyServerParent({ objectId, changedBy }: KeyServerRow): MoveObject {
  const [first, last] = KEY_SERVER_VERSIONS;
  return objectOf({
    objectId,
    version: 1n,
    type: `${KEY_SERVER_MODULE}::KeyServer`,
    owner: SHARED,
    hasPublicTransfer: false,
    fields: {
      id: { id: objectId },
      first_version: String(first),
      last_version: String(last),
    },
    contents: new BcsWriter().address(objectId).u64(first).u64(last).toBytes(),
    changedBy,
  });
}

function keyServerEntry(
  server: KeyServerRow,
  { objectId, version }: {
    readonly objectId: string;
    readonly version: bigint;
  },
): MoveObject {
  const { name, url, publicKey } = server;
  const type = `${KEY_SERVER_MODULE}::KeyServerV${version}`;
  const writer = new BcsWriter().address(objectId).u64(version).string(name);
  // Only version 2 writes the URL within an enumeration of server kinds.
  const contents = version === 1n
    ? writer.string(url).u8(KEY_TYPE).byteVector(publicKey)
    : writer.u8(KEY_TYPE).byteVector(publicKey).length(0).string(url);
  const value = { name, key_type: KEY_TYPE, pk: [...publicKey] };
  return objectOf({
    objectId,
    version: 1n,
    type: `0x2::dynamic_field::Field<u64, ${type}>`,
    owner: { kind: "object", id: server.objectId },
    hasPublicTransfer: false,
    fields: {
      id: { id: objectId },
      name: String(version),
      value: {
        type,
        fields: version === 1n ? { ...value, url } : {
          ...value,
          server_type: { variant: "Independent", fields: { url } },
        },
      },
    },
    contents: contents.toBytes(),
    changedBy: server.changedBy,
  });
}
