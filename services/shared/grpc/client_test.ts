import { experimental, logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { GrpcClient } from "./client.ts";
import { GRPC_JS_ENVIRONMENT } from "./grpc_js_environment.ts";
import { H2GrpcServer } from "./h2_server.ts";
import { GRPC_STATUS, type GrpcAnswer, GrpcFailure } from "./method.ts";

Deno.test("GrpcClient sends the library's lines to the last logger given", () => {
  const first = new RecordingLogger();
  const second = new RecordingLogger();
  setLogVerbosity(logVerbosity.DEBUG);
  const open = (logger?: RecordingLogger): void => {
    const target = "127.0.0.1:1";
    new GrpcClient(logger ? { target, logger } : { target }).close();
  };
  try {
    open(first);
    open(second);
    experimental.log(logVerbosity.ERROR, "it", 1);
    experimental.log(logVerbosity.INFO, "told");
    experimental.log(logVerbosity.DEBUG, "details");
    // Nowhere to send them: nothing may fail.
    open();
    experimental.log(logVerbosity.ERROR, "lost");
  } finally {
    setLogVerbosity(logVerbosity.ERROR);
  }
  const fields = { source: "grpc-js" };
  assertEquals(first.lines, []);
  assertEquals(second.lines, [
    { level: "error", message: "it 1", fields },
    { level: "info", message: "told", fields },
    { level: "debug", message: "details", fields },
  ]);
});

Deno.test("GRPC_JS_ENVIRONMENT names each variable once, in order", () => {
  assertEquals(
    GRPC_JS_ENVIRONMENT,
    [...new Set(GRPC_JS_ENVIRONMENT)].sort(),
  );
});

const PATH = "/test.Test/Echo";
const REQUEST = Uint8Array.of(1, 2, 3);
const CALL = { deadlineMs: 50_000 };

/**
 * After a connection that failed, the library keeps an unreferenced back-off
 * timer of a second that nothing it exports can stop.
 */
const WITH_BACK_OFF = { sanitizeOps: false, sanitizeResources: false } as const;

Deno.test("GrpcClient.unary() gives the answer's plain bytes", async () => {
  await withPlainServer(async (target) => {
    const client = new GrpcClient({ target });
    const answer = await client.unary(PATH, REQUEST, CALL);
    client.close();
    assertEquals(answer, REQUEST);
    assertEquals(Object.getPrototypeOf(answer), Uint8Array.prototype);
  });
});

Deno.test("GrpcClient.unary() gives DEADLINE_EXCEEDED when the answer takes too long", async () => {
  await withPlainServer(async (target) => {
    const client = new GrpcClient({ target });
    // Were the deadline over while it is being dialled, the library would leave
    // the timers of its dial behind.
    await client.unary(PATH, REQUEST, CALL);
    const answer = await client.unary("/test.Test/Hang", REQUEST, {
      deadlineMs: 30,
    });
    client.close();
    assertFailure(answer, GRPC_STATUS.DEADLINE_EXCEEDED);
  });
});

Deno.test("GrpcClient.close() ends running calls and refuses further ones", async () => {
  await withPlainServer(async (target, entered) => {
    const client = new GrpcClient({ target });
    const running = client.unary("/test.Test/Hang", REQUEST, CALL);
    await entered;
    client.close();
    assertFailure(await running, GRPC_STATUS.CANCELLED);
    assertEquals(
      await client.unary(PATH, REQUEST, CALL),
      new GrpcFailure(
        GRPC_STATUS.CANCELLED,
        `Cannot call "${PATH}": the client is closed`,
      ),
    );
    client.close();
  });
});

Deno.test({
  name: "GrpcClient.unary() gives UNAVAILABLE when nobody listens",
  ...WITH_BACK_OFF,
  async fn() {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const target = `127.0.0.1:${listener.addr.port}`;
    listener.close();
    const client = new GrpcClient({ target });
    const answer = await client.unary(PATH, REQUEST, CALL);
    client.close();
    assertFailure(answer, GRPC_STATUS.UNAVAILABLE);
  },
});

Deno.test("GrpcClient throws when the target is empty", () => {
  assertThrows(
    () => new GrpcClient({ target: "" }),
    TypeError,
    'Cannot call ""',
  );
});

function assertFailure(answer: GrpcAnswer, code: number): void {
  assertInstanceOf(answer, GrpcFailure);
  assertEquals(answer.code, code, answer.message);
}

async function withPlainServer(
  body: (target: string, entered: Promise<void>) => Promise<void>,
): Promise<void> {
  const entered = Promise.withResolvers<void>();
  const server = new H2GrpcServer({
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    logger: new RecordingLogger(),
    methods: {
      [PATH]: { kind: "unary", handle: (request) => request },
      "/test.Test/Hang": {
        kind: "unary",
        handle() {
          entered.resolve();
          return new Promise<never>(() => {});
        },
      },
    },
  });
  const address = await server.start();
  try {
    await body(
      `127.0.0.1:${address.kind === "tcp" ? address.port : ""}`,
      entered.promise,
    );
  } finally {
    await server.stop(0);
  }
}
