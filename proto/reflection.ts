/**
 * Reads requests and writes answers of gRPC server reflection: the messages of
 * `grpc.reflection.v1`, whose bytes are the same in `v1alpha`. Also lists the
 * names that a file descriptor declares.
 *
 * @module
 */

import { type MalformedFault, WireReader } from "./wire.ts";
import { WireWriter } from "./wire_writer.ts";

/**
 * The question of a request; when a message has several, the last one counts.
 */
export type ReflectionQuestion =
  | { readonly kind: "file_by_filename"; readonly name: string }
  | { readonly kind: "file_containing_symbol"; readonly symbol: string }
  | {
    readonly kind: "file_containing_extension";
    readonly type: string;
    readonly number: number;
  }
  | {
    readonly kind: "all_extension_numbers_of_type";
    readonly type: string;
  }
  | { readonly kind: "list_services" }
  | { readonly kind: "none" };

/** A question and the host it is about. */
interface ReflectionRequest {
  /** The host; empty when it is not given. */
  readonly host: string;
  /** The question about the host. */
  readonly question: ReflectionQuestion;
}

/** The answer to a question. */
export type ReflectionAnswer =
  | { readonly kind: "files"; readonly files: readonly Uint8Array[] }
  | { readonly kind: "extension_numbers"; readonly type: string }
  | { readonly kind: "services"; readonly names: readonly string[] }
  | {
    readonly kind: "error";
    readonly code: number;
    readonly message: string;
  };

const REQUEST = {
  HOST: 1 << 3 | 2,
  FILE_BY_FILENAME: 3 << 3 | 2,
  FILE_CONTAINING_SYMBOL: 4 << 3 | 2,
  FILE_CONTAINING_EXTENSION: 5 << 3 | 2,
  ALL_EXTENSION_NUMBERS: 6 << 3 | 2,
  LIST_SERVICES: 7 << 3 | 2,
};
const EXTENSION_TYPE = 1 << 3 | 2;
const EXTENSION_NUMBER = 2 << 3;

/**
 * Reads a request; returns a fault, which has a `reason`, for malformed bytes.
 */
export function decodeReflectionRequest(
  bytes: Uint8Array,
): ReflectionRequest | MalformedFault {
  const reader = new WireReader(bytes);
  let host = "";
  let question: ReflectionQuestion = { kind: "none" };
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case REQUEST.HOST:
        host = reader.text();
        break;
      case REQUEST.FILE_BY_FILENAME:
        question = { kind: "file_by_filename", name: reader.text() };
        break;
      case REQUEST.FILE_CONTAINING_SYMBOL:
        question = { kind: "file_containing_symbol", symbol: reader.text() };
        break;
      case REQUEST.FILE_CONTAINING_EXTENSION:
        question = readExtension(reader);
        break;
      case REQUEST.ALL_EXTENSION_NUMBERS:
        question = {
          kind: "all_extension_numbers_of_type",
          type: reader.text(),
        };
        break;
      case REQUEST.LIST_SERVICES:
        reader.text();
        question = { kind: "list_services" };
        break;
      default:
        reader.skip(tag);
    }
  }
  return reader.fault("reflection request") ?? { host, question };
}

function readExtension(reader: WireReader): ReflectionQuestion {
  let type = "";
  let number = 0;
  const outer = reader.open();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === EXTENSION_TYPE) type = reader.text();
    else if (tag === EXTENSION_NUMBER) number = reader.int64();
    else reader.skip(tag);
  }
  reader.close(outer);
  return { kind: "file_containing_extension", type, number };
}

/** Writes the response to the request whose bytes are `request`. */
export function encodeReflectionResponse(
  answer: ReflectionAnswer,
  { host, request }: { readonly host: string; readonly request: Uint8Array },
): Uint8Array {
  const writer = new WireWriter(1_024);
  if (host !== "") writer.text(1, host);
  writer.bytes(2, request);
  switch (answer.kind) {
    case "files": {
      const mark = writer.open(4);
      for (const file of answer.files) writer.bytes(1, file);
      writer.close(mark);
      break;
    }
    case "extension_numbers": {
      const mark = writer.open(5);
      writer.text(1, answer.type);
      writer.close(mark);
      break;
    }
    case "services": {
      const mark = writer.open(6);
      for (const name of answer.names) {
        const service = writer.open(1);
        writer.text(1, name);
        writer.close(service);
      }
      writer.close(mark);
      break;
    }
    case "error": {
      const mark = writer.open(7);
      writer.int(1, answer.code);
      writer.text(2, answer.message);
      writer.close(mark);
    }
  }
  return writer.finish();
}

// Fields of the messages of google/protobuf/descriptor.proto.
const FILE = { PACKAGE: 2, MESSAGE: 4, ENUM: 5, SERVICE: 6 };
const MESSAGE = { NAME: 1, FIELD: 2, NESTED: 3, ENUM: 4, ONEOF: 8 };
const ENUM = { NAME: 1, VALUE: 2 };
const SERVICE = { NAME: 1, METHOD: 2 };
const NAME = 1;

/** The full names that a file declares, and which of them are messages. */
interface DeclaredSymbols {
  /** Every name: messages, fields, oneofs, enums, values, services, methods. */
  readonly all: readonly string[];
  /** The names of messages among them. */
  readonly messages: readonly string[];
}

/** Lists the full names that a `google.protobuf.FileDescriptorProto` declares. */
export function declaredSymbols(descriptor: Uint8Array): DeclaredSymbols {
  const file = readParts(descriptor);
  const packageName = decodeText(file.get(FILE.PACKAGE)?.[0]);
  const all: string[] = [];
  const messages: string[] = [];
  const addMessage = (bytes: Uint8Array, scope: string): void => {
    const parts = readParts(bytes);
    const name = `${scope}.${decodeText(parts.get(MESSAGE.NAME)?.[0])}`;
    all.push(name);
    messages.push(name);
    addNames(parts.get(MESSAGE.FIELD), name);
    addNames(parts.get(MESSAGE.ONEOF), name);
    for (const one of parts.get(MESSAGE.NESTED) ?? []) addMessage(one, name);
    for (const one of parts.get(MESSAGE.ENUM) ?? []) addEnum(one, name);
  };
  const addEnum = (bytes: Uint8Array, scope: string): void => {
    const parts = readParts(bytes);
    all.push(`${scope}.${decodeText(parts.get(ENUM.NAME)?.[0])}`);
    // An enum value is named in the scope of its enum, as in C++.
    addNames(parts.get(ENUM.VALUE), scope);
  };
  const addNames = (
    of: readonly Uint8Array[] | undefined,
    scope: string,
  ): void => {
    for (const one of of ?? []) {
      all.push(`${scope}.${decodeText(readParts(one).get(NAME)?.[0])}`);
    }
  };
  for (const one of file.get(FILE.MESSAGE) ?? []) addMessage(one, packageName);
  for (const one of file.get(FILE.ENUM) ?? []) addEnum(one, packageName);
  for (const one of file.get(FILE.SERVICE) ?? []) {
    const parts = readParts(one);
    const name = `${packageName}.${decodeText(parts.get(SERVICE.NAME)?.[0])}`;
    all.push(name);
    addNames(parts.get(SERVICE.METHOD), name);
  }
  return { all, messages };
}

/** Returns the length-delimited fields of a message by field number. */
function readParts(bytes: Uint8Array): ReadonlyMap<number, Uint8Array[]> {
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

function decodeText(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}
