/**
 * Key servers as objects of the embedded ledger: each has an object of its own,
 * and below it one entry for each version of the format that clients read.
 *
 * @module
 */

import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import type { KeyServerRow } from "./account_rows.ts";
import {
  createObject,
  deriveEntryId,
  type MoveObject,
} from "./move_objects.ts";
import {
  bytes,
  type MoveValue,
  string,
  struct,
  u64,
  u8,
} from "./move_value.ts";

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
  return deriveEntryId(objectId, { type: "u64", bytes });
}

/**
 * Returns the key server's object, or the one of its entries, that has this id;
 * undefined when none has.
 */
export function keyServerObject(
  server: KeyServerRow,
  objectId: string,
): MoveObject | undefined {
  const { changedBy } = server;
  if (objectId === server.objectId) {
    const [first, last] = KEY_SERVER_VERSIONS;
    return createObject({
      type: `${KEY_SERVER_MODULE}::KeyServer`,
      objectId,
      fields: { first_version: u64(first), last_version: u64(last) },
      changedBy,
    });
  }
  const at = keyServerEntryIds(server.objectId).indexOf(objectId);
  const version = KEY_SERVER_VERSIONS[at];
  if (version === undefined) return undefined;
  const type = `${KEY_SERVER_MODULE}::KeyServerV${version}`;
  return createObject({
    type: `0x2::dynamic_field::Field<u64, ${type}>`,
    objectId,
    fields: { name: u64(version), value: entryValue(type, server) },
    owner: { kind: "object", id: server.objectId },
    changedBy,
  });
}

function entryValue(type: string, server: KeyServerRow): MoveValue {
  const { url } = server;
  const name = string(server.name);
  const key = { key_type: u8(KEY_TYPE), pk: bytes(server.publicKey) };
  if (type.endsWith("V2")) {
    // An enumeration of kinds of servers; the first one is independent.
    const server_type: MoveValue = {
      json: { variant: "Independent", fields: { url } },
      write: (writer) => writer.length(0).string(url),
    };
    return struct(type, { name, ...key, server_type });
  }
  // JSON has had the URL last since the first release.
  return {
    json: struct(type, { name, ...key, url: string(url) }).json,
    write: struct(type, { name, url: string(url), ...key }).write,
  };
}
