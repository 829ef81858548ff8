/**
 * The messages of `grpc.reflection.v1` as a server reads and writes them; those
 * of `v1alpha` are the same bytes.
 *
 * @module
 */

import { type MalformedFault, WireReader } from "./wire.ts";
import { WireWriter } from "./wire_writer.ts";

/** What is asked; the last one of the kinds in a message counts. */
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
  /** The host; empty when it isn't given. */
  readonly host: string;
  /** What is asked. */
  readonly question: ReflectionQuestion;
}

/** What is answered. */
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

/** Reads a question; `reason` in the result tells a fault. */
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

/** Writes an answer to the request that came as `request`. */
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
