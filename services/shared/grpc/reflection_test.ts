import { assert, assertEquals } from "@std/assert";
import {
  type IndependentType,
  loadSchema,
} from "../../../proto/testing/schema.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
  type GrpcMethods,
} from "./method.ts";
import { reflectionMethods } from "./reflection.ts";

const SERVED: GrpcMethods = {
  "/grpc.health.v1.Health/Check": {
    kind: "unary",
    handle: () => new Uint8Array(),
  },
  "/grpc.health.v1.Health/List": {
    kind: "unary",
    handle: () => new Uint8Array(),
  },
};

/** Asks in one stream of a version. */
async function ask(
  questions: readonly (Readonly<Record<string, unknown>> | Uint8Array)[],
  version = "v1",
): Promise<readonly Record<string, unknown>[]> {
  const types = await loadTypes(version);
  const answers: Record<string, unknown>[] = [];
  for await (const answer of open(types, questions, version)) {
    if (answer instanceof GrpcFailure) {
      answers.push({ failed: answer.code });
    } else answers.push(types.response.decode(answer));
  }
  return answers;
}

interface Types {
  readonly request: IndependentType;
  readonly response: IndependentType;
}

async function loadTypes(version: string): Promise<Types> {
  const schema = await loadSchema();
  const base = `grpc.reflection.${version}.ServerReflection`;
  return {
    request: schema(`${base}Request`),
    response: schema(`${base}Response`),
  };
}

function open(
  { request }: Types,
  questions: readonly (Readonly<Record<string, unknown>> | Uint8Array)[],
  version: string,
): AsyncIterable<GrpcAnswer> {
  const service = `grpc.reflection.${version}.ServerReflection`;
  const method = reflectionMethods(SERVED)[`/${service}/ServerReflectionInfo`];
  assert(method?.kind === "bidi_stream");
  const requests = async function* (): AsyncGenerator<Uint8Array> {
    for (const question of questions) {
      yield question instanceof Uint8Array
        ? question
        : request.encode(question);
    }
  };
  return method.handle(requests(), {
    signal: new AbortController().signal,
    metadata: undefined,
  });
}

/** The names in the descriptors of an answer, in their order. */
function listFiles(answer: Record<string, unknown> | undefined): string[] {
  const { fileDescriptorProto } = answer?.fileDescriptorResponse as {
    fileDescriptorProto: readonly Uint8Array[];
  };
  // The name is the first field, shorter than 128 bytes.
  return fileDescriptorProto.map((bytes) =>
    new TextDecoder().decode(bytes.slice(2, 2 + (bytes[1] ?? 0)))
  );
}

Deno.test("reflectionMethods() lists the services, itself among them, in both versions", async () => {
  for (const version of ["v1", "v1alpha"]) {
    const [answer] = await ask([{ host: "h", listServices: "" }], version);
    assertEquals(answer?.validHost, "h");
    assertEquals(answer?.listServicesResponse, {
      service: [
        { name: "grpc.health.v1.Health" },
        { name: "grpc.reflection.v1.ServerReflection" },
        { name: "grpc.reflection.v1alpha.ServerReflection" },
      ],
    });
    const { originalRequest } = answer as {
      originalRequest: Record<string, unknown>;
    };
    assertEquals(originalRequest.host, "h");
    assertEquals(originalRequest.listServices, "");
  }
});

Deno.test("reflectionMethods() gives the file of a symbol, and each import once", async () => {
  const rls = "envoy/service/ratelimit/v3/rls.proto";
  const answers = await ask([
    {
      fileContainingSymbol: "envoy.service.ratelimit.v3.RateLimitService",
    },
    {
      fileContainingSymbol:
        "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit",
    },
    { fileByFilename: "google/protobuf/duration.proto" },
    { fileContainingSymbol: "grpc.health.v1.Health.Watch" },
  ]);
  assertEquals(
    listFiles(answers[0]).toSorted(),
    [
      "envoy/config/core/v3/base.proto",
      "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
      rls,
      "envoy/type/v3/ratelimit_unit.proto",
      "google/protobuf/duration.proto",
      "google/protobuf/struct.proto",
      "google/protobuf/timestamp.proto",
      "google/protobuf/wrappers.proto",
    ].toSorted(),
  );
  assertEquals(listFiles(answers[0])[0], rls);
  assertEquals(listFiles(answers[1]), [rls]);
  assertEquals(listFiles(answers[2]), ["google/protobuf/duration.proto"]);
  assertEquals(listFiles(answers[3]), ["grpc/health/v1/health.proto"]);
});

Deno.test("reflectionMethods() tells as a value what it does not have, and goes on", async () => {
  const known = "grpc.health.v1.HealthCheckRequest";
  const answers = await ask([
    { fileByFilename: "no.proto" },
    { fileContainingSymbol: "no.Symbol" },
    { fileContainingSymbol: "" },
    { fileContainingExtension: { containingType: known, extensionNumber: 5 } },
    {
      fileContainingExtension: { containingType: "no.T", extensionNumber: -1 },
    },
    { allExtensionNumbersOfType: "no.T" },
    { allExtensionNumbersOfType: known },
    { host: "only" },
    { listServices: "*" },
  ]);
  assertEquals(
    answers.map(({ errorResponse }) =>
      (errorResponse as { errorCode: number } | null)?.errorCode
    ),
    [5, 5, 5, 5, 5, 5, undefined, 3, undefined],
  );
  assertEquals(answers[6]?.allExtensionNumbersResponse, {
    baseTypeName: known,
    extensionNumber: [],
  });
  assert(answers[8]?.listServicesResponse);
});

Deno.test("reflectionMethods() ends a stream that asks too much or with no message", async () => {
  const failed = [{ failed: GRPC_STATUS.INVALID_ARGUMENT }];
  assertEquals(
    await ask([Uint8Array.of(0x1a, 9, 1)]).then((all) => all.slice(0, 1)),
    failed,
  );
  const long = { fileByFilename: "x".repeat(4_097) };
  assertEquals((await ask([long])).slice(0, 1), failed);
});

Deno.test("reflectionMethods() has a bound for open streams", async () => {
  const types = await loadTypes("v1");
  const method = reflectionMethods(SERVED)[
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
  ];
  assert(method?.kind === "bidi_stream");
  const { signal } = new AbortController();
  const waiting = Promise.withResolvers<void>();
  const silent = async function* (): AsyncGenerator<Uint8Array> {
    yield types.request.encode({ listServices: "" });
    await waiting.promise;
  };
  const streams = Array.from(
    { length: 100 },
    () =>
      method.handle(silent(), { signal, metadata: undefined })
        [Symbol.asyncIterator](),
  );
  for (const stream of streams) await stream.next();
  const next = () =>
    method.handle(silent(), { signal, metadata: undefined })
      [Symbol.asyncIterator]().next();
  const { value } = await next();
  assert(value instanceof GrpcFailure);
  assertEquals(value.code, GRPC_STATUS.RESOURCE_EXHAUSTED);
  waiting.resolve();
  for (const stream of streams) assertEquals((await stream.next()).done, true);
  assert((await next()).value instanceof Uint8Array);
});
