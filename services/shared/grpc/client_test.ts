import { Server, ServerCredentials } from "@grpc/grpc-js";
import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { createGrpcClient } from "./client.ts";
import type { GrpcClientTls } from "./client.ts";
import { bufferOf, bytesOf } from "./grpc_js_bytes.ts";
import { createGrpcJsServer } from "./grpc_js_server.ts";
import { GRPC_STATUS, GrpcFailure } from "./method.ts";
import type { GrpcAnswer } from "./method.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";

const PATH = "/test.Test/Echo";
const PEM = "-----BEGIN CERTIFICATE-----";
const REQUEST = Uint8Array.of(1, 2, 3);
const CALL = { deadlineMs: 10_000 };

/**
 * After a connection that failed, the library keeps an unreferenced back-off
 * timer of a second that nothing it exports can stop.
 */
const WITH_BACK_OFF = { sanitizeOps: false, sanitizeResources: false } as const;

Deno.test("GrpcClient.unary() gives the answer's plain bytes", async () => {
  await withPlainServer(async (target) => {
    const client = createGrpcClient({ target });
    const answer = await client.unary(PATH, REQUEST, CALL);
    client.close();
    assertEquals(answer, REQUEST);
    assertEquals(Object.getPrototypeOf(answer), Uint8Array.prototype);
  });
});

Deno.test("GrpcClient.unary() gives DEADLINE_EXCEEDED when the answer takes too long", async () => {
  await withPlainServer(async (target) => {
    const client = createGrpcClient({ target });
    const answer = await client.unary("/test.Test/Hang", REQUEST, {
      deadlineMs: 30,
    });
    client.close();
    assertFailure(answer, GRPC_STATUS.DEADLINE_EXCEEDED);
  });
});

Deno.test("GrpcClient.close() ends running calls and refuses further ones", async () => {
  await withPlainServer(async (target, entered) => {
    const client = createGrpcClient({ target });
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

Deno.test("GrpcClient.unary() gives UNKNOWN when the status is not one of gRPC's", async () => {
  const server = new Server();
  server.register(
    PATH,
    (
      _call: unknown,
      callback: (status: { code: number; details: string }) => void,
    ) => callback({ code: 77, details: "odd" }),
    bufferOf,
    bytesOf,
    "unary",
  );
  await withLibraryServer(
    server,
    ServerCredentials.createInsecure(),
    async (target) => {
      const client = createGrpcClient({ target });
      const answer = await client.unary(PATH, REQUEST, CALL);
      client.close();
      assertEquals(answer, new GrpcFailure(GRPC_STATUS.UNKNOWN, "odd"));
    },
  );
});

Deno.test("GrpcClient.unary() calls over TLS when the authority is given as text or bytes", async () => {
  await withTlsServer(false, async (target) => {
    const ca = await fixture("ca.pem");
    for (const form of [ca, new TextEncoder().encode(ca)]) {
      assertEquals(await callOnce(target, { ca: form }), REQUEST);
    }
  });
});

Deno.test({
  name:
    "GrpcClient.unary() gives UNAVAILABLE when the server's authority is not trusted",
  ...WITH_BACK_OFF,
  async fn() {
    await withTlsServer(false, async (target) => {
      // A certificate that signed nothing.
      const ca = await fixture("client.pem");
      assertFailure(await callOnce(target, { ca }), GRPC_STATUS.UNAVAILABLE);
    });
  },
});

Deno.test({
  name: "GrpcClient.unary() shows its certificate when the server asks for one",
  ...WITH_BACK_OFF,
  async fn() {
    await withTlsServer(true, async (target) => {
      const ca = await fixture("ca.pem");
      const cert = await fixture("client.pem");
      const key = await fixture("client.key");
      assertEquals(await callOnce(target, { ca, cert, key }), REQUEST);
      assertFailure(await callOnce(target, { ca }), GRPC_STATUS.UNAVAILABLE);
    });
  },
});

Deno.test({
  name: "GrpcClient.unary() gives UNAVAILABLE when nobody listens",
  ...WITH_BACK_OFF,
  async fn() {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const target = `127.0.0.1:${listener.addr.port}`;
    listener.close();
    const client = createGrpcClient({ target });
    const answer = await client.unary(PATH, REQUEST, CALL);
    client.close();
    assertFailure(answer, GRPC_STATUS.UNAVAILABLE);
  },
});

Deno.test("createGrpcClient() throws when a certificate comes without its key", async () => {
  const cert = await fixture("client.pem");
  assertThrows(
    () => createGrpcClient({ target: "localhost:1", tls: { cert } }),
    TypeError,
    'Cannot call "localhost:1": certificate and key must be given together',
  );
});

Deno.test("createGrpcClient() throws when the target is empty", () => {
  assertThrows(
    () => createGrpcClient({ target: "" }),
    TypeError,
    'Cannot call ""',
  );
});

Deno.test("createGrpcClient() throws when a file holds no PEM text", () => {
  const cases: readonly (readonly [GrpcClientTls, string])[] = [
    [{ ca: "" }, "the authorities hold no PEM text"],
    [{ ca: new Uint8Array([0, 255]) }, "the authorities hold no PEM text"],
    [{ cert: PEM, key: "y" }, "the key holds no PEM text"],
    [{ cert: "x", key: PEM }, "the certificate holds no PEM text"],
  ];
  for (const [tls, reason] of cases) {
    assertThrows(
      () => createGrpcClient({ target: "localhost:1", tls }),
      TypeError,
      `Cannot call "localhost:1": ${reason}`,
    );
  }
});

async function callOnce(
  target: string,
  tls: GrpcClientTls,
): Promise<GrpcAnswer> {
  const client = createGrpcClient({ target, tls });
  try {
    return await client.unary(PATH, REQUEST, CALL);
  } finally {
    client.close();
  }
}

function assertFailure(answer: GrpcAnswer, code: number): void {
  assertInstanceOf(answer, GrpcFailure);
  assertEquals(answer.code, code, answer.message);
}

async function withPlainServer(
  body: (target: string, entered: Promise<void>) => Promise<void>,
): Promise<void> {
  const entered = Promise.withResolvers<void>();
  const server = createGrpcJsServer({
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

async function withTlsServer(
  asksForCertificate: boolean,
  body: (target: string) => Promise<void>,
): Promise<void> {
  const server = new Server();
  server.register(
    PATH,
    (
      call: { request: Uint8Array },
      callback: (error: null, answer: Uint8Array) => void,
    ) => callback(null, call.request),
    bufferOf,
    bytesOf,
    "unary",
  );
  const credentials = ServerCredentials.createSsl(
    Buffer.from(await fixture("ca.pem")),
    [{
      private_key: Buffer.from(await fixture("server.key")),
      cert_chain: Buffer.from(await fixture("server.pem")),
    }],
    asksForCertificate,
  );
  await withLibraryServer(server, credentials, body);
}

async function withLibraryServer(
  server: Server,
  credentials: ServerCredentials,
  body: (target: string) => Promise<void>,
): Promise<void> {
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  try {
    await body(`localhost:${port}`);
  } finally {
    await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  }
}

function fixture(name: string): Promise<string> {
  return Deno.readTextFile(new URL(`./testdata/${name}`, import.meta.url));
}
