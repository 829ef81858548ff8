import { assertEquals } from "@std/assert";
import protobuf from "npm:protobufjs@^7.5.0";
import "npm:protobufjs@^7.5.0/ext/descriptor/index.js";
import { loadSchema } from "../../proto/testing/schema.ts";
import { GrpcFailure } from "../../services/shared/grpc/method.ts";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, DECIDE_PATH, grpcCaller, STATUS } from "./grpc_caller.ts";
import { ownChannel } from "./own_channel.ts";
import { dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

const FILES = { "rules.yaml": dailyRule("d", { key: "user", limit: 1 }) };
const METHOD = "ServerReflection/ServerReflectionInfo";
const PATH = `/grpc.reflection.v1.${METHOD}`;
const OLD_PATH = `/grpc.reflection.v1alpha.${METHOD}`;

Deno.test("ratelimit tells a client all that it needs for a decision (reflection)", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await serveHere({ RUNTIME_ROOT: folder.root });
  await using caller = await grpcCaller(service.grpcTarget);
  const schema = await loadSchema();
  const name = "grpc.reflection.v1.ServerReflection";
  const ask = (question: Readonly<Record<string, unknown>>) =>
    schema(`${name}Request`).encode(question);

  // Makes the requests of grpcurl: the list of services, then the files of one
  // of them.
  for (const path of [PATH, OLD_PATH]) {
    const { answers, status } = await caller.chat(path, [
      ask({ listServices: "*" }),
      ask({
        fileContainingSymbol: "envoy.service.ratelimit.v3.RateLimitService",
      }),
      ask({ fileContainingSymbol: "no.such.Service" }),
    ]);
    assertEquals([status, answers.length], [STATUS.OK, 3]);
    const [services, files, missing] = answers.map((bytes) =>
      schema(`${name}Response`).decode(bytes)
    );
    assertEquals(services?.listServicesResponse, {
      service: [
        { name: "envoy.service.ratelimit.v3.RateLimitService" },
        { name: "grpc.health.v1.Health" },
        { name: "grpc.reflection.v1.ServerReflection" },
        { name: "grpc.reflection.v1alpha.ServerReflection" },
      ],
    });
    assertEquals(missing?.errorResponse, {
      errorCode: STATUS.NOT_FOUND,
      errorMessage: 'Cannot find the symbol "no.such.Service"',
    });

    // Makes a call using only the descriptors that were received.
    const root = createRoot(files);
    const method = root.lookupService(
      "envoy.service.ratelimit.v3.RateLimitService",
    ).methods.ShouldRateLimit;
    const request = root.lookupType(method?.requestType ?? "");
    const bytes = request.encode(request.create({
      domain: "d",
      descriptors: [{ entries: [{ key: "user", value: path }] }],
    })).finish();
    const answer = await caller.unary(DECIDE_PATH, new Uint8Array(bytes));
    const message = root.lookupType(method?.responseType ?? "").decode(
      answer.bytes ?? new Uint8Array(),
    ) as unknown as { overall_code: number };
    assertEquals(message.overall_code, CODES.OK);
  }
});

Deno.test("ratelimit has no reflection when GRPC_REFLECTION is false", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    GRPC_REFLECTION: "false",
  });
  await using caller = await grpcCaller(service.grpcTarget);
  for (const path of [PATH, OLD_PATH]) {
    const { status, answers } = await caller.chat(path, [new Uint8Array()]);
    assertEquals([status, answers], [STATUS.UNIMPLEMENTED, []]);
  }
});

/** Creates message types from the descriptors in a response alone. */
function createRoot(
  answer: Record<string, unknown> | undefined,
): protobuf.Root {
  const { fileDescriptorProto } = answer?.fileDescriptorResponse as {
    fileDescriptorProto: readonly Uint8Array[];
  };
  const set = new protobuf.Writer();
  for (const file of fileDescriptorProto) set.uint32(10).bytes(file);
  const { fromDescriptor } = protobuf.Root as unknown as {
    fromDescriptor(set: Uint8Array): protobuf.Root;
  };
  const root = fromDescriptor(set.finish());
  root.resolveAll();
  return root;
}

Deno.test("ratelimit doesn't wait at its stop for a tool that leaves its stream open (reflection)", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, SHUTDOWN_GRACE: "1h" },
  });
  const channel = ownChannel(service.grpcTarget);
  try {
    const stream = channel.stream(PATH);
    const answers = stream.messages[Symbol.asyncIterator]();
    const schema = await loadSchema();
    await stream.send(
      schema("grpc.reflection.v1.ServerReflectionRequest")
        .encode({ listServices: "" }),
    );
    assertEquals((await answers.next()).value instanceof Uint8Array, true);
    assertEquals(await service.stop(), 0);
    const { value } = await answers.next();
    assertEquals(
      value instanceof GrpcFailure && value.code,
      STATUS.UNAVAILABLE,
    );
  } finally {
    channel.close();
  }
});
