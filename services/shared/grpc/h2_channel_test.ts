import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
} from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";
import { createServer } from "node:net";
import {
  createTestAuthority,
  type TestAuthority,
} from "../../../tests/support/test_certificates.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  concat,
  settingsFrame,
  windowUpdate,
} from "../../../tests/support/h2_frames.ts";
import type { GrpcStream } from "./channel.ts";
import type { GrpcClientTls, GrpcTarget } from "./client_socket.ts";
import { H2GrpcChannel, type H2GrpcChannelOptions } from "./h2_channel.ts";
import { GRPC_STATUS, type GrpcAnswer, GrpcFailure } from "./method.ts";

const ECHO = "/test.Test/Echo";
const CHAT = "/test.Test/Chat";
const HANG = "/test.Test/Hang";
const REFUSE = "/test.Test/Refuse";
const MAX_BYTES = 32 * 1_048_576;

const identity = {
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
};
const unary = { requestStream: false, responseStream: false, ...identity };
const chat = { requestStream: true, responseStream: true, ...identity };

/** A server on the gRPC library, which shares no code with the client. */
class TestServer implements AsyncDisposable {
  readonly #server: Server;
  readonly seen: Metadata[] = [];
  readonly chats: ServerDuplexStream<Buffer, Buffer>[] = [];
  port = 0;

  constructor() {
    this.#server = new Server({
      "grpc.max_receive_message_length": MAX_BYTES,
      "grpc.max_send_message_length": MAX_BYTES,
    });
    this.#server.addService({
      echo: { path: ECHO, ...unary },
      hang: { path: HANG, ...unary },
      refuse: { path: REFUSE, ...unary },
      chat: { path: CHAT, ...chat },
    }, {
      echo: (
        call: ServerUnaryCall<Buffer, Buffer>,
        answer: (error: null, bytes: Buffer) => void,
      ) => {
        this.seen.push(call.metadata);
        answer(null, call.request);
      },
      hang: () => {},
      refuse: (
        _call: unknown,
        answer: (error: { code: number; details: string }) => void,
      ) => answer({ code: 7, details: "no: 100 % naïve\n" }),
      chat: (call: ServerDuplexStream<Buffer, Buffer>) => {
        this.chats.push(call);
        call.on("data", (bytes: Buffer) => call.write(bytes));
        call.on("end", () => call.end());
        call.on("error", () => {});
      },
    });
  }

  static async start(
    credentials = ServerCredentials.createInsecure(),
    port = 0,
  ): Promise<TestServer> {
    const server = new TestServer();
    server.port = await new Promise((resolve, reject) =>
      server.#server.bindAsync(
        `127.0.0.1:${port}`,
        credentials,
        (error, bound) => error === null ? resolve(bound) : reject(error),
      )
    );
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    await Promise.resolve();
  }
}

function channelTo(
  port: number,
  options: Partial<H2GrpcChannelOptions> & { readonly tls?: GrpcClientTls } =
    {},
): H2GrpcChannel & Disposable {
  const { tls, ...others } = options;
  const target: GrpcTarget = { kind: "tcp", host: "127.0.0.1", port, tls };
  const channel = new H2GrpcChannel({
    target,
    maxReceiveBytes: MAX_BYTES,
    ...others,
  });
  return Object.assign(channel, { [Symbol.dispose]: () => channel.close() });
}

const DEADLINE = { deadlineMs: 20_000 };
const HELLO = new TextEncoder().encode("hello");

function asFailure(answer: GrpcAnswer): GrpcFailure {
  assert(answer instanceof GrpcFailure);
  return answer;
}

async function collectAnswers(stream: GrpcStream): Promise<GrpcAnswer[]> {
  const all: GrpcAnswer[] = [];
  for await (const message of stream.messages) all.push(message);
  return all;
}

Deno.test("H2GrpcChannel calls a server of the gRPC library, with metadata", async () => {
  await using server = await TestServer.start();
  using channel = channelTo(server.port);
  const metadata = { "x-tenant": "ada", "authorization": "Bearer t" };
  const answer = await channel.unary(ECHO, HELLO, { ...DEADLINE, metadata });
  assertEquals(new Uint8Array(answer as Uint8Array), HELLO);
  const [seen] = server.seen;
  assertEquals(seen?.get("x-tenant"), ["ada"]);
  assertEquals(seen?.get("authorization"), ["Bearer t"]);
});

Deno.test("H2GrpcChannel sends metadata whose name ends in -bin as bytes", async () => {
  await using server = await TestServer.start();
  using channel = channelTo(server.port);
  const metadata = { "x-name-bin": "na\u00efve\n" };
  const answer = await channel.unary(ECHO, HELLO, { ...DEADLINE, metadata });
  assert(answer instanceof Uint8Array);
  assertEquals(server.seen[0]?.get("x-name-bin"), [
    Buffer.from("na\u00efve\n"),
  ]);
});

Deno.test("H2GrpcChannel tries the other addresses of a name when one does not answer", async () => {
  await using server = await TestServer.start();
  const { port } = server;
  // Nothing listens on that port of the other family.
  const channel = new H2GrpcChannel({
    target: { kind: "tcp", host: "localhost", port },
  });
  const answer = await channel.unary(ECHO, HELLO, DEADLINE);
  channel.close();
  assertEquals(answer instanceof Uint8Array, true);
});

Deno.test("H2GrpcChannel tells that a name has no address", async () => {
  const channel = new H2GrpcChannel({
    target: { kind: "tcp", host: "no-such-host.invalid", port: 1 },
  });
  const answer = asFailure(await channel.unary(ECHO, HELLO, DEADLINE));
  channel.close();
  assertEquals(answer.code, GRPC_STATUS.UNAVAILABLE);
  assertStringIncludes(answer.message, '"no-such-host.invalid:1"');
});

Deno.test("H2GrpcChannel gives the status and text of a call that the server refuses", async () => {
  await using server = await TestServer.start();
  using channel = channelTo(server.port);
  const refused = asFailure(await channel.unary(REFUSE, HELLO, DEADLINE));
  assertEquals(refused.code, GRPC_STATUS.PERMISSION_DENIED);
  assertEquals(refused.message, "no: 100 % naïve\n");
  const unknown = asFailure(await channel.unary("/x.Y/Z", HELLO, DEADLINE));
  assertEquals(unknown.code, GRPC_STATUS.UNIMPLEMENTED);
});

Deno.test("H2GrpcChannel sends and takes messages of many megabytes", async () => {
  await using server = await TestServer.start();
  using channel = channelTo(server.port);
  const large = new Uint8Array(16 * 1_048_576);
  for (let at = 0; at < large.length; at += 4_093) large[at] = at;
  const answer = await channel.unary(ECHO, large, DEADLINE);
  assertEquals(new Uint8Array(answer as Uint8Array), large);
  using small = channelTo(server.port, { maxReceiveBytes: 1_000 });
  const refused = asFailure(await small.unary(ECHO, large, DEADLINE));
  assertEquals(refused.code, GRPC_STATUS.RESOURCE_EXHAUSTED);
});

Deno.test("H2GrpcChannel runs a thousand calls at a time on one connection", async () => {
  await using server = await TestServer.start();
  using channel = channelTo(server.port);
  const answers = await Promise.all(
    Array.from(
      { length: 1_000 },
      (_, index) =>
        channel.unary(ECHO, Uint8Array.of(index, index >> 8), DEADLINE),
    ),
  );
  for (const [index, answer] of answers.entries()) {
    assertEquals(
      new Uint8Array(answer as Uint8Array),
      Uint8Array.of(index, index >> 8),
    );
  }
});

Deno.test("H2GrpcChannel ends a call when its deadline passes, its signal is aborted or the channel is closed", async () => {
  await using server = await TestServer.start();
  using channel = channelTo(server.port);
  const late = asFailure(
    await channel.unary(HANG, HELLO, { deadlineMs: 50 }),
  );
  assertEquals(late.code, GRPC_STATUS.DEADLINE_EXCEEDED);
  const caller = new AbortController();
  const aborted = channel.unary(HANG, HELLO, {
    ...DEADLINE,
    signal: caller.signal,
  });
  caller.abort();
  assertEquals(asFailure(await aborted).code, GRPC_STATUS.CANCELLED);
  const running = channel.unary(HANG, HELLO, DEADLINE);
  channel.close();
  assertEquals(asFailure(await running).code, GRPC_STATUS.CANCELLED);
  const after = await channel.unary(ECHO, HELLO, DEADLINE);
  assertEquals(asFailure(after).code, GRPC_STATUS.CANCELLED);
});

Deno.test("H2GrpcChannel streams both ways, in order, and holds back a server that is too fast", async () => {
  await using server = await TestServer.start();
  using channel = channelTo(server.port);
  const stream = channel.stream(CHAT);
  const count = 200;
  const part = new Uint8Array(65_536);
  const sending = (async () => {
    for (let index = 0; index < count; index++) {
      part[0] = index;
      await stream.send(part.slice());
    }
    stream.closeSend();
  })();
  const got = await collectAnswers(stream);
  await sending;
  assertEquals(got.map((one) => (one as Uint8Array)[0]), [
    ...Array(count).keys(),
  ]);
});

Deno.test("H2GrpcChannel ends a stream with a failure when the server goes, and connects again with the next one", async () => {
  const first = await TestServer.start();
  using channel = channelTo(first.port);
  const stream = channel.stream(CHAT);
  await stream.send(HELLO);
  const messages = stream.messages[Symbol.asyncIterator]();
  assert((await messages.next()).value instanceof Uint8Array);
  await first[Symbol.asyncDispose]();
  const end = await messages.next();
  assertEquals(asFailure(end.value).code !== GRPC_STATUS.OK, true);
  assertEquals((await messages.next()).done, true);
  await using _second = await TestServer.start(
    ServerCredentials.createInsecure(),
    first.port,
  );
  const again = channel.stream(CHAT);
  void again.send(HELLO);
  again.closeSend();
  assertEquals((await collectAnswers(again)).length, 1);
});

function createCredentials(
  authority: TestAuthority,
  options: { readonly name?: string; readonly wantsClient: boolean },
): ServerCredentials {
  const { certPem, keyPem } = authority.issue(options.name ?? "server.test");
  return ServerCredentials.createSsl(
    Buffer.from(authority.caPem),
    [{ cert_chain: Buffer.from(certPem), private_key: Buffer.from(keyPem) }],
    options.wantsClient,
  );
}

Deno.test("H2GrpcChannel speaks TLS, checks the server's name and shows its own certificate", async () => {
  const authority = createTestAuthority();
  await using server = await TestServer.start(
    createCredentials(authority, { wantsClient: true }),
  );
  const own = authority.issue("client.test");
  const tls = { caPem: authority.caPem, serverName: "server.test", ...own };
  using channel = channelTo(server.port, { tls });
  const answer = await channel.unary(ECHO, HELLO, DEADLINE);
  assertEquals(new Uint8Array(answer as Uint8Array), HELLO);
  const large = new Uint8Array(8 * 1_048_576);
  for (let at = 0; at < large.length; at += 4_093) large[at] = at;
  const echoed = await channel.unary(ECHO, large, DEADLINE);
  assertEquals(new Uint8Array(echoed as Uint8Array), large);

  const wrong: readonly GrpcClientTls[] = [
    { ...tls, serverName: "other.test" },
    { ...tls, caPem: createTestAuthority().caPem },
    { ...tls, certPem: undefined, keyPem: undefined },
  ];
  for (const one of wrong) {
    using refused = channelTo(server.port, { tls: one });
    const failure = asFailure(await refused.unary(ECHO, HELLO, DEADLINE));
    assertEquals(failure.code, GRPC_STATUS.UNAVAILABLE);
  }
});

Deno.test("H2GrpcChannel checks the certificate of a server that is named by its address", async () => {
  const authority = createTestAuthority();
  const tls = { caPem: authority.caPem };
  for (const name of ["127.0.0.1", "127.0.0.2"]) {
    await using server = await TestServer.start(
      createCredentials(authority, { name, wantsClient: false }),
    );
    using channel = channelTo(server.port, { tls });
    const answer = await channel.unary(ECHO, HELLO, DEADLINE);
    if (name === "127.0.0.1") {
      assertEquals(new Uint8Array(answer as Uint8Array), HELLO);
    } else assertEquals(asFailure(answer).code, GRPC_STATUS.UNAVAILABLE);
  }
});

Deno.test("H2GrpcChannel says what is wrong when there is no server, or none of HTTP/2", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  using channel = channelTo(port);
  const none = asFailure(await channel.unary(ECHO, HELLO, DEADLINE));
  assertEquals(none.code, GRPC_STATUS.UNAVAILABLE);
  assertStringIncludes(none.message, `"127.0.0.1:${port}"`);

  const other = createServer((socket) => {
    socket.on("error", () => {}).resume();
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
  const address = other.address();
  assert(address !== null && typeof address === "object");
  using wrong = channelTo(address.port);
  const failure = asFailure(await wrong.unary(ECHO, HELLO, DEADLINE));
  assertEquals(failure.code, GRPC_STATUS.UNAVAILABLE);
  await new Promise<void>((done) => void other.close(() => done()));
});

Deno.test("H2GrpcChannel lets go of a server that takes nothing when it is closed", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const clock = new FakeClock(0);
  using channel = channelTo(port, { clock });
  const stream = channel.stream(CHAT);
  using server = await listener.accept();
  listener.close();
  // Announce the largest window, but read nothing.
  await server.write(concat(
    settingsFrame([[4, 2 ** 31 - 1]]),
    windowUpdate(0, 2 ** 30),
  ));
  let sent = 0;
  const part = new Uint8Array(65_536);
  const sending = Promise.all(Array.from({ length: 512 }, async () => {
    await stream.send(part);
    sent++;
  }));
  // Write until the buffers of the system are full.
  let seen = -1;
  for (let turns = 0; turns < 20; turns++) {
    if (sent === 0 || sent !== seen) turns = 0;
    seen = sent;
    await new Promise((next) => setTimeout(next));
  }
  channel.close();
  await sending;
  clock.advance(1_000);
  // The server notices by its own writes, which fail.
  await assertRejects(async () => {
    for (let at = 0; at < 10_000; at++) await server.write(part);
  });
});

Deno.test("H2GrpcChannel gives up a server that is silent from the start", async () => {
  const silent = createServer((socket) =>
    void socket.on("error", () => {}).resume()
  );
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  const address = silent.address();
  assert(address !== null && typeof address === "object");
  using channel = channelTo(address.port, { connectTimeoutMs: 50 });
  const failure = asFailure(await channel.unary(ECHO, HELLO, DEADLINE));
  assertEquals(failure.code, GRPC_STATUS.UNAVAILABLE);
  assertStringIncludes(failure.message, "no connection in time");
  await new Promise<void>((done) => void silent.close(() => done()));
});

Deno.test("H2GrpcChannel refuses metadata that can't be sent, without its value", async () => {
  using channel = channelTo(1);
  for (const name of ["te", "grpc-status", ":path", "Upper", "a b", "x-ok"]) {
    const metadata = { [name]: "secret\n" };
    const failure = asFailure(
      await channel.unary(ECHO, HELLO, { ...DEADLINE, metadata }),
    );
    assertEquals(failure.code, GRPC_STATUS.INTERNAL);
    assertStringIncludes(failure.message, JSON.stringify(name));
    assertEquals(failure.message.includes("secret"), false);
  }
});
