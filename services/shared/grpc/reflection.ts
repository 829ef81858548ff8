/**
 * Server reflection: tools such as grpcurl learn from it what a server offers.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { DESCRIBED_FILES } from "../../../proto/descriptors.ts";
import {
  declaredSymbols,
  decodeReflectionRequest,
  encodeReflectionResponse,
  type ReflectionAnswer,
  type ReflectionQuestion,
} from "../../../proto/reflection.ts";
import { quote } from "../quote.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
  type GrpcMethods,
} from "./method.ts";

const METHOD = "ServerReflectionInfo";
const SERVICES = [
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];

/** Streams that may be open at a time: a tool needs one, and not for long. */
const MAX_STREAMS = 100;
/** Largest question, in bytes: it is sent back with the answer. */
const MAX_QUESTION_BYTES = 4_096;

/**
 * Reflection of version `v1` and `v1alpha` about `methods` and about itself. It
 * tells the public protocol and nothing of this server.
 */
export function reflectionMethods(methods: GrpcMethods): GrpcMethods {
  const services = Object.keys(methods).map((path) => path.split("/")[1] ?? "");
  const directory = new Directory([...new Set([...services, ...SERVICES])]);
  let openStreams = 0;
  const handle = async function* (
    requests: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<GrpcAnswer> {
    if (openStreams >= MAX_STREAMS) {
      yield new GrpcFailure(
        GRPC_STATUS.RESOURCE_EXHAUSTED,
        `Cannot reflect: ${openStreams} streams are open already`,
      );
      return;
    }
    openStreams++;
    try {
      const sent = new Set<string>();
      for await (const request of requests) {
        yield directory.answer(request, sent);
      }
    } finally {
      openStreams--;
    }
  };
  return Object.fromEntries(
    SERVICES.map((service) => [
      `/${service}/${METHOD}`,
      { kind: "bidi_stream", handle },
    ]),
  );
}

/** A described file, read when it is first asked for. */
interface OpenedFile {
  readonly bytes: Uint8Array;
  readonly imports: readonly string[];
}

/** The services and described files about which reflection answers. */
class Directory {
  readonly #services: readonly string[];
  /** Files by name. */
  readonly #files = new Map<string, OpenedFile>();
  /** Names of files by what they declare. */
  readonly #symbols = new Map<string, string>();
  readonly #messages = new Set<string>();

  constructor(services: readonly string[]) {
    this.#services = services.toSorted();
  }

  /** Answers one request; `sent` has the files that the caller has got. */
  answer(request: Uint8Array, sent: Set<string>): GrpcAnswer {
    if (request.length > MAX_QUESTION_BYTES) {
      return invalid(
        `Cannot reflect: request has ${request.length} bytes, more than ` +
          `${MAX_QUESTION_BYTES}`,
      );
    }
    const read = decodeReflectionRequest(request);
    if ("reason" in read) return invalid(read.reason);
    const answer = this.#answerTo(read.question, sent);
    return encodeReflectionResponse(answer, { host: read.host, request });
  }

  #answerTo(
    question: ReflectionQuestion,
    sent: Set<string>,
  ): ReflectionAnswer {
    this.#open();
    switch (question.kind) {
      case "list_services":
        return { kind: "services", names: this.#services };
      case "file_by_filename":
        return this.#filesFrom(question.name, sent) ??
          notFound("file", question.name);
      case "file_containing_symbol": {
        const { symbol } = question;
        const name = this.#symbols.get(symbol);
        return name === undefined
          ? notFound("symbol", symbol)
          : this.#filesFrom(name, sent) ?? notFound("symbol", symbol);
      }
      case "file_containing_extension":
        return this.#messages.has(question.type)
          ? notFound("extension", `${question.type} ${question.number}`)
          : notFound("type", question.type);
      case "all_extension_numbers_of_type":
        // Messages of proto3 have no extensions.
        return this.#messages.has(question.type)
          ? { kind: "extension_numbers", type: question.type }
          : notFound("type", question.type);
      case "none":
        return {
          kind: "error",
          code: GRPC_STATUS.INVALID_ARGUMENT,
          message: "Cannot reflect: the request asks for nothing that is known",
        };
    }
  }

  /** The file, and those of its imports that the caller doesn't have. */
  #filesFrom(
    name: string,
    sent: Set<string>,
  ): ReflectionAnswer | undefined {
    const asked = this.#files.get(name);
    if (asked === undefined) return undefined;
    const files = [asked.bytes];
    sent.add(name);
    const needed = [...asked.imports];
    for (const one of needed) {
      const file = this.#files.get(one);
      if (file === undefined || sent.has(one)) continue;
      sent.add(one);
      files.push(file.bytes);
      needed.push(...file.imports);
    }
    return { kind: "files", files };
  }

  #open(): void {
    if (this.#files.size > 0) return;
    for (const { name, imports, base64 } of DESCRIBED_FILES) {
      const bytes = new Uint8Array(Buffer.from(base64, "base64"));
      this.#files.set(name, { bytes, imports });
      const { all, messages } = declaredSymbols(bytes);
      for (const symbol of all) this.#symbols.set(symbol, name);
      for (const message of messages) this.#messages.add(message);
    }
  }
}

function notFound(what: string, name: string): ReflectionAnswer {
  return {
    kind: "error",
    code: GRPC_STATUS.NOT_FOUND,
    message: `Cannot find the ${what} ${quote(name)}`,
  };
}

function invalid(reason: string): GrpcFailure {
  return new GrpcFailure(GRPC_STATUS.INVALID_ARGUMENT, reason);
}
