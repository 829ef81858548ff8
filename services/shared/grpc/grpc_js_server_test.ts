import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { connect } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { createGrpcJsServer } from "./grpc_js_server.ts";
import type { GrpcJsServerOptions } from "./grpc_js_server.ts";
import type { GrpcServer } from "./method.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";

const PATH = "/test.Test/Wait";

Deno.test("createGrpcJsServer() tells how many calls a connection may have open", async () => {
  for (const [asked, told] of [[undefined, 1_000], [7, 7]] as const) {
    const options = asked === undefined ? {} : { maxConcurrentStreams: asked };
    await withSession(options, async ({ session }) => {
      const settings = await once<{ maxConcurrentStreams?: number }>(
        session,
        "remoteSettings",
      );
      assertEquals(settings.maxConcurrentStreams, told);
    });
  }
});

Deno.test("createGrpcJsServer() closes a connection at its age and lets its calls finish", async () => {
  const options = { maxConnectionAgeMs: 60 };
  await withSession(options, async ({ session, wait }) => {
    const call = wait(session);
    await call.entered;
    assertEquals(await once<number>(session, "goaway"), 0);
    call.release();
    assertEquals(await call.status, "0");
    await once(session, "close");
  });
});

Deno.test("createGrpcJsServer() breaks a connection when the grace past its age is over", async () => {
  const options = { maxConnectionAgeMs: 30, maxConnectionAgeGraceMs: 30 };
  await withSession(options, async ({ session, wait }) => {
    const call = wait(session);
    await call.entered;
    await once(session, "close");
    assert(await call.status !== "0");
  });
});

Deno.test("GrpcServer.stop() waits for the calls of a connection past its age", async () => {
  const options = { maxConnectionAgeMs: 30 };
  await withSession(options, async ({ server, session, wait }) => {
    const call = wait(session);
    await call.entered;
    await once<number>(session, "goaway");
    let over = false;
    const stopped = server.stop(10_000).then(() => over = true);
    // Far more turns than a stop without anything to wait for takes.
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    assertEquals(over, false);
    call.release();
    assertEquals(await call.status, "0");
    await stopped;
  });
});

interface WaitingCall {
  readonly entered: Promise<void>;
  release(): void;
  /** `grpc-status`, or undefined when the call was broken. */
  readonly status: Promise<string | undefined>;
}

interface Opened {
  readonly server: GrpcServer;
  readonly session: ClientHttp2Session;
  wait(session: ClientHttp2Session): WaitingCall;
}

async function withSession(
  options: Partial<GrpcJsServerOptions>,
  body: (opened: Opened) => Promise<void>,
): Promise<void> {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const server = createGrpcJsServer({
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    logger: new RecordingLogger(),
    methods: {
      [PATH]: {
        kind: "unary",
        async handle(request) {
          entered.resolve();
          await gate.promise;
          return request;
        },
      },
    },
    ...options,
  });
  const address = await server.start();
  assert(address.kind === "tcp");
  const session = connect(`http://127.0.0.1:${address.port}`);
  session.on("error", () => {});
  const wait = (on: ClientHttp2Session): WaitingCall => ({
    entered: entered.promise,
    release: gate.resolve,
    status: statusOf(on),
  });
  try {
    await body({ server, session, wait });
  } finally {
    gate.resolve();
    if (!session.destroyed) {
      const closed = once(session, "close");
      session.destroy();
      await closed;
    }
    await server.stop(0);
  }
}

function statusOf(session: ClientHttp2Session): Promise<string | undefined> {
  const stream = session.request({
    ":method": "POST",
    ":path": PATH,
    "content-type": "application/grpc",
  });
  let status: string | undefined;
  stream.on("trailers", (trailers) => status = String(trailers["grpc-status"]));
  stream.on("error", () => {});
  stream.resume();
  stream.end(Buffer.alloc(5));
  return new Promise((resolve) => stream.once("close", () => resolve(status)));
}

function once<T>(session: ClientHttp2Session, event: string): Promise<T> {
  return new Promise((resolve) => session.once(event, resolve));
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
