/**
 * The names that a file descriptor declares.
 *
 * @module
 */

import { WireReader } from "./wire.ts";

// Fields of the messages of google/protobuf/descriptor.proto.
const FILE = { PACKAGE: 2, MESSAGE: 4, ENUM: 5, SERVICE: 6 };
const MESSAGE = { NAME: 1, FIELD: 2, NESTED: 3, ENUM: 4, ONEOF: 8 };
const ENUM = { NAME: 1, VALUE: 2 };
const SERVICE = { NAME: 1, METHOD: 2 };
const NAME = 1;

/** The full names in a file, and which of them are messages. */
interface DeclaredSymbols {
  /** Every name: messages, fields, oneofs, enums, values, services, methods. */
  readonly all: readonly string[];
  /** The messages among them. */
  readonly messages: readonly string[];
}

/** Lists the full names that a `google.protobuf.FileDescriptorProto` declares. */
export function declaredSymbols(descriptor: Uint8Array): DeclaredSymbols {
  const file = partsOf(descriptor);
  const packageName = textOf(file.get(FILE.PACKAGE)?.[0]);
  const all: string[] = [];
  const messages: string[] = [];
  const addMessage = (bytes: Uint8Array, scope: string): void => {
    const parts = partsOf(bytes);
    const name = `${scope}.${textOf(parts.get(MESSAGE.NAME)?.[0])}`;
    all.push(name);
    messages.push(name);
    addNames(parts.get(MESSAGE.FIELD), name);
    addNames(parts.get(MESSAGE.ONEOF), name);
    for (const one of parts.get(MESSAGE.NESTED) ?? []) addMessage(one, name);
    for (const one of parts.get(MESSAGE.ENUM) ?? []) addEnum(one, name);
  };
  const addEnum = (bytes: Uint8Array, scope: string): void => {
    const parts = partsOf(bytes);
    all.push(`${scope}.${textOf(parts.get(ENUM.NAME)?.[0])}`);
    // A value is a sibling of its enum, as in C++.
    addNames(parts.get(ENUM.VALUE), scope);
  };
  const addNames = (
    of: readonly Uint8Array[] | undefined,
    scope: string,
  ): void => {
    for (const one of of ?? []) {
      all.push(`${scope}.${textOf(partsOf(one).get(NAME)?.[0])}`);
    }
  };
  for (const one of file.get(FILE.MESSAGE) ?? []) addMessage(one, packageName);
  for (const one of file.get(FILE.ENUM) ?? []) addEnum(one, packageName);
  for (const one of file.get(FILE.SERVICE) ?? []) {
    const parts = partsOf(one);
    const name = `${packageName}.${textOf(parts.get(SERVICE.NAME)?.[0])}`;
    all.push(name);
    addNames(parts.get(SERVICE.METHOD), name);
  }
  return { all, messages };
}

/** The text and message fields of a message by number. */
function partsOf(bytes: Uint8Array): ReadonlyMap<number, Uint8Array[]> {
  const parts = new Map<number, Uint8Array[]>();
  const reader = new WireReader(bytes);
  while (reader.hasMore()) {
    const tag = reader.tag();
    if ((tag & 7) !== 2) {
      reader.skip(tag);
      continue;
    }
    const list = parts.get(tag >>> 3) ?? [];
    list.push(reader.bytes());
    parts.set(tag >>> 3, list);
  }
  return parts;
}

function textOf(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}
