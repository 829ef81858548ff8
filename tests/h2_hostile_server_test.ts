import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { GrpcStream } from "../services/shared/grpc/channel.ts";
import type { GrpcClientTls } from "../services/shared/grpc/client_socket.ts";
import { H2GrpcChannel } from "../services/shared/grpc/h2_channel.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  GrpcFailure,
} from "../services/shared/grpc/method.ts";
import { FLAG, FRAME_TYPE, H2_ERROR } from "../services/shared/h2/frame.ts";
import {
  buildFrame,
  concat,
  dataFrame,
  encodeMessage,
  headersFrame,
  resetFrame,
  settingsFrame,
} from "./support/h2_frames.ts";
import {
  GOOD_MESSAGE,
  GOOD_SCRIPT,
  goodFrames,
  H2TestServer,
  type ServerScript,
} from "./support/h2_test_server.ts";
import { eachRound } from "./support/rounds.ts";
import type { SeededRandom } from "./support/seeded_random.ts";
import {
  createTestAuthority,
  type TestAuthority,
} from "./support/test_certificates.ts";

const PATH = "/test.Test/Call";
const REQUEST = Uint8Array.of(1, 2, 3);
const CALL = { deadlineMs: 30_000 };

/**
 * A server whose next connections behave as the test says, and a channel to it.
 */
class World implements AsyncDisposable {
  readonly #server: H2TestServer;
  readonly #maxReceiveBytes: number;
  readonly #tls: GrpcClientTls | undefined;
  readonly #scripts: ServerScript[] = [];
  channel: H2GrpcChannel;

  constructor(
    { maxReceiveBytes = 1_000, authority }: {
      readonly maxReceiveBytes?: number | undefined;
      /**
       * The authority that signs the server's certificate; plain TCP without
       * it.
       */
      readonly authority?: TestAuthority | undefined;
    } = {},
  ) {
    this.#maxReceiveBytes = maxReceiveBytes;
    this.#tls = authority && {
      caPem: authority.caPem,
      serverName: "server.test",
    };
    this.#server = new H2TestServer(
      () => this.#scripts.shift() ?? GOOD_SCRIPT,
      authority?.issue("server.test"),
    );
    this.channel = this.#newChannel();
  }

  /** The types of the frames that the newest connection has received. */
  get received(): readonly number[] {
    return this.#server.received.at(-1) ?? [];
  }

  /** Number of connections so far. */
  get connections(): number {
    return this.#server.received.length;
  }

  /**
   * Replaces the channel by a new one; its first connections follow the
   * scripts, and all further ones succeed.
   */
  next(...scripts: readonly ServerScript[]): void {
    this.channel.close();
    this.channel = this.#newChannel();
    this.#scripts.length = 0;
    this.#scripts.push(...scripts);
  }

  unary(): Promise<GrpcAnswer> {
    return this.channel.unary(PATH, REQUEST, CALL);
  }

  /** Returns all messages of a stream on which one message was sent. */
  async stream(): Promise<GrpcAnswer[]> {
    const stream = this.channel.stream(PATH);
    void stream.send(REQUEST);
    stream.closeSend();
    return await collectAnswers(stream);
  }

  /**
   * Asserts that the channel works again: the consequences of the previous
   * connection may fail one or two calls, but no more.
   */
  async assertWorks(): Promise<void> {
    // All scripts of the test have been used.
    assertEquals(this.#scripts.length, 0);
    for (let tries = 0; tries < 3; tries++) {
      if (isGood(await this.unary())) return;
    }
    throw new Error("Cannot call: the channel does not recover");
  }

  #newChannel(): H2GrpcChannel {
    const { port } = this.#server;
    return new H2GrpcChannel({
      target: { kind: "tcp", host: "127.0.0.1", port, tls: this.#tls },
      maxReceiveBytes: this.#maxReceiveBytes,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.channel.close();
    await this.#server[Symbol.asyncDispose]();
  }
}

async function collectAnswers(stream: GrpcStream): Promise<GrpcAnswer[]> {
  const all: GrpcAnswer[] = [];
  for await (const message of stream.messages) all.push(message);
  return all;
}

function isGood(answer: GrpcAnswer | undefined): boolean {
  return answer instanceof Uint8Array &&
    String(answer) === String(GOOD_MESSAGE);
}

/** Asserts that the call succeeded or that its failure has a message. */
function assertValue(answers: readonly GrpcAnswer[]): void {
  const last = answers.at(-1);
  if (last instanceof GrpcFailure) {
    assert(last.code !== 0 && last.message.length > 0);
    return;
  }
  assert(answers.every(isGood), String(answers));
}

function asFailure(answer: GrpcAnswer | undefined): GrpcFailure {
  assert(answer instanceof GrpcFailure, String(answer));
  return answer;
}

function goawayFrame(lastId: number, code = 0, words = ""): Uint8Array {
  const text = new TextEncoder().encode(words);
  const payload = new Uint8Array(8 + text.length);
  const view = new DataView(payload.buffer);
  view.setUint32(0, lastId);
  view.setUint32(4, code);
  payload.set(text, 8);
  return buildFrame({ type: FRAME_TYPE.GOAWAY, payload });
}

/**
 * Returns the script of a successful answer with `extra` inserted before frame
 * number `at`, or at its end.
 */
function scriptWith(
  at: number,
  { extra, closes }: { readonly extra: Uint8Array; readonly closes: boolean },
): ServerScript {
  if (at === 0) return { first: concat(extra, goodFrames(1)[0]!), closes };
  if (at === 1) {
    return { first: concat(goodFrames(1)[0]!, extra), onEnd: answer, closes };
  }
  return {
    first: goodFrames(1)[0]!,
    onEnd: (id) => concat(...goodFrames(id).toSpliced(at, 0, extra).slice(1)),
    closes,
  };
}

function answer(streamId: number): Uint8Array {
  return concat(...goodFrames(streamId).slice(1));
}

Deno.test("H2GrpcChannel outlives GOAWAY at every frame of a call and of a stream", async () => {
  await using world = new World();
  const count = goodFrames(1).length;
  for (const lastId of [0, 1, 2 ** 31 - 1]) {
    for (const code of [H2_ERROR.NO_ERROR, H2_ERROR.INTERNAL_ERROR]) {
      for (const closes of [false, true]) {
        for (let at = 0; at <= count; at++) {
          const extra = goawayFrame(lastId, code);
          const script = scriptWith(at, { extra, closes });
          world.next(script);
          assertValue([await world.unary()]);
          await world.assertWorks();
          world.next(script);
          assertValue(await world.stream());
          await world.assertWorks();
        }
      }
    }
  }
});

Deno.test("H2GrpcChannel sends a call again that a leaving server has not looked at, a stream as a whole or not at all", async () => {
  await using world = new World();
  const leaving: ServerScript = {
    first: settingsFrame([]),
    onHeaders: () => goawayFrame(0),
    closes: true,
  };
  world.next(leaving, leaving);
  assert(isGood(await world.unary()));
  assertEquals(world.connections, 3);
  world.next(leaving);
  assert(isGood((await world.stream())[0]));
  assertEquals(world.connections, 5);
  // Messages are not sent again on a new connection when the stream was already
  // open when they were sent.
  const opened = Promise.withResolvers<void>();
  world.next({
    first: settingsFrame([]),
    onHeaders() {
      opened.resolve();
      return undefined;
    },
    onEnd: () => goawayFrame(0),
    closes: true,
  });
  const stream = world.channel.stream(PATH);
  await opened.promise;
  await stream.send(REQUEST);
  stream.closeSend();
  const [failure] = await collectAnswers(stream);
  assertEquals(asFailure(failure).code, GRPC_STATUS.UNAVAILABLE);
  assertStringIncludes(
    asFailure(failure).message,
    "has not looked at the call",
  );
  assertEquals(world.connections, 6);
});

Deno.test("H2GrpcChannel outlives a reset at every frame, with every code", async () => {
  await using world = new World();
  const count = goodFrames(1).length;
  for (const code of Object.values(H2_ERROR)) {
    for (let at = 1; at <= count; at++) {
      const script = scriptWith(at, {
        extra: resetFrame(1, code),
        closes: false,
      });
      world.next(script);
      assertValue([await world.unary()]);
      await world.assertWorks();
      world.next(script);
      assertValue(await world.stream());
      await world.assertWorks();
    }
  }
});

Deno.test("H2GrpcChannel outlives a connection that is cut at any byte", async () => {
  await using world = new World();
  await assertOutlivesCuts(world, { step: 1 });
});

Deno.test("H2GrpcChannel outlives a connection in TLS that is cut at any place, or leaves at any frame", async () => {
  await using world = new World({ authority: createTestAuthority() });
  await assertOutlivesCuts(world, { step: 8 });
  for (let at = 0; at <= goodFrames(1).length; at++) {
    world.next(scriptWith(at, { extra: goawayFrame(0), closes: true }));
    assertValue([await world.unary()]);
    await world.assertWorks();
  }
});

async function assertOutlivesCuts(
  world: World,
  { step }: { readonly step: number },
): Promise<void> {
  const [settings, ...others] = goodFrames(1);
  const bytes = concat(...others);
  const first = settings!;
  for (let at = 0; at <= first.length; at += step) {
    world.next({ first: first.subarray(0, at) });
    assertEquals(
      asFailure(await world.unary()).code,
      GRPC_STATUS.UNAVAILABLE,
    );
    await world.assertWorks();
  }
  for (let at = 0; at < bytes.length; at += step) {
    const script: ServerScript = {
      first,
      onEnd: () => bytes.subarray(0, at),
      closes: true,
    };
    world.next(script);
    assertEquals(
      asFailure(await world.unary()).code,
      GRPC_STATUS.UNAVAILABLE,
    );
    await world.assertWorks();
    world.next(script);
    const all = await world.stream();
    assertEquals(asFailure(all.at(-1)).code, GRPC_STATUS.UNAVAILABLE);
    await world.assertWorks();
  }
}

/** Returns the frames of a successful answer with random errors. */
function garbage(random: SeededRandom): Uint8Array {
  const below = (max: number): number => random.below(max);
  const noise = (length: number): Uint8Array =>
    Uint8Array.from({ length }, () => below(256));
  if (below(8) === 0) return noise(below(400));
  const frames = goodFrames(1).slice(1);
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const at = below(frames.length);
    const frame = frames[at]!.slice();
    switch (below(5)) {
      case 0:
        frame[below(frame.length)] = below(256);
        frames[at] = frame;
        break;
      case 1:
        frames.splice(below(frames.length), 0, frame);
        break;
      case 2:
        frames[at] = buildFrame({
          type: below(12),
          flags: below(256),
          streamId: below(6),
          payload: noise(below(80)),
        });
        break;
      case 3:
        frames.splice(at, 1, noise(below(30)));
        break;
      case 4:
        frames[at] = frame.subarray(0, below(frame.length));
        break;
    }
  }
  return concat(...frames);
}

Deno.test("H2GrpcChannel outlives garbage", async () => {
  await using world = new World();
  await eachRound({ rounds: 500 }, async ({ random, seed }) => {
    const bytes = garbage(random);
    world.next({ first: settingsFrame([]), onEnd: () => bytes, closes: true });
    if (seed % 2 === 0) {
      const answer = await world.unary();
      assert(answer instanceof GrpcFailure || answer instanceof Uint8Array);
    } else assert((await world.stream()).length < 1_000);
    await world.assertWorks();
  });
});

Deno.test("H2GrpcChannel gives the status that an answer without gRPC stands for", async () => {
  await using world = new World();
  const page = (status: string, type = "text/html"): ServerScript => ({
    first: settingsFrame([]),
    onEnd: (id) =>
      concat(
        headersFrame(id, [[":status", status], ["content-type", type]]),
        dataFrame(id, new TextEncoder().encode("<html>busy</html>")),
      ),
    closes: true,
  });
  const cases = [
    ["400", GRPC_STATUS.INTERNAL],
    ["401", GRPC_STATUS.UNAUTHENTICATED],
    ["403", GRPC_STATUS.PERMISSION_DENIED],
    ["404", GRPC_STATUS.UNIMPLEMENTED],
    ["429", GRPC_STATUS.UNAVAILABLE],
    ["502", GRPC_STATUS.UNAVAILABLE],
    ["503", GRPC_STATUS.UNAVAILABLE],
    ["504", GRPC_STATUS.UNAVAILABLE],
    ["200", GRPC_STATUS.UNKNOWN],
    ["500", GRPC_STATUS.UNKNOWN],
  ] as const;
  for (const [status, code] of cases) {
    world.next(page(status));
    const failure = asFailure(await world.unary());
    assertEquals(failure.code, code, status);
    assertStringIncludes(failure.message, `HTTP status "${status}"`);
  }
  world.next(page("200", "application/grpcish"));
  assertEquals(asFailure(await world.unary()).code, GRPC_STATUS.UNKNOWN);
});

Deno.test("H2GrpcChannel takes no call for a success whose trailers are missing", async () => {
  await using world = new World();
  world.next({
    first: settingsFrame([]),
    onEnd: (id) =>
      concat(
        headersFrame(id, [
          [":status", "200"],
          ["content-type", "application/grpc+proto"],
          ["grpc-status", "0"],
        ]),
        dataFrame(id, encodeMessage(GOOD_MESSAGE)),
      ),
  });
  const failure = asFailure(await world.unary());
  assertEquals(failure.code, GRPC_STATUS.UNKNOWN);
  assertStringIncludes(failure.message, "without a status");
});

Deno.test("H2GrpcChannel keeps no more than some kilobytes of a server's message", async () => {
  await using world = new World();
  world.next({
    first: settingsFrame([]),
    onEnd: (id) =>
      headersFrame(
        id,
        [
          [":status", "200"],
          ["content-type", "application/grpc"],
          ["grpc-status", "99"],
          ["grpc-message", "x".repeat(15_000)],
        ],
        FLAG.END_HEADERS | FLAG.END_STREAM,
      ),
  });
  const failure = asFailure(await world.unary());
  assertEquals(failure.code, GRPC_STATUS.UNKNOWN);
  assertEquals(failure.message.length, 4_096);
});

Deno.test("H2GrpcChannel waits for room that the server gives later", async () => {
  await using world = new World();
  // SETTINGS_MAX_CONCURRENT_STREAMS is first 0 and then 1.
  world.next({
    ...GOOD_SCRIPT,
    first: concat(settingsFrame([[3, 0]]), settingsFrame([[3, 1]])),
  });
  assert(isGood(await world.unary()));
  const all = await Promise.all(
    Array.from({ length: 20 }, () => world.unary()),
  );
  assert(all.every(isGood));
  assertEquals(world.connections, 1);
});

Deno.test("H2GrpcChannel ends a connection whose server floods it, and holds little of it", async () => {
  await using world = new World({ maxReceiveBytes: 4_000_000 });
  const many = (count: number, frame: Uint8Array): Uint8Array => {
    const bytes = new Uint8Array(count * frame.length);
    for (let at = 0; at < count; at++) bytes.set(frame, at * frame.length);
    return bytes;
  };
  const ping = buildFrame({
    type: FRAME_TYPE.PING,
    payload: new Uint8Array(8),
  });
  const head = headersFrame(1, [
    [":status", "200"],
    ["content-type", "application/grpc"],
  ]);
  const floods: Readonly<Record<string, Uint8Array>> = {
    pings: many(20_000, ping),
    settings: many(20_000, settingsFrame([[4, 100_000]])),
    "empty data": concat(
      head,
      many(20_000, dataFrame(1, new Uint8Array(0), 0)),
    ),
    continuations: concat(
      headersFrame(1, [[":status", "200"]], 0),
      many(
        20_000,
        buildFrame({ type: FRAME_TYPE.CONTINUATION, streamId: 1 }),
      ),
    ),
    "large headers": concat(
      headersFrame(1, [[":status", "200"]], 0),
      many(
        20,
        buildFrame({
          type: FRAME_TYPE.CONTINUATION,
          streamId: 1,
          payload: new Uint8Array(16_384),
        }),
      ),
    ),
    "early hints": many(
      20_000,
      headersFrame(1, [[":status", "103"]], FLAG.END_HEADERS),
    ),
    "a large frame": buildFrame({
      type: FRAME_TYPE.DATA,
      streamId: 1,
      payload: new Uint8Array(70_000),
    }),
    "unknown frames": many(20_000, buildFrame({ type: 99, streamId: 1 })),
    "messages without end": concat(
      head,
      many(100, dataFrame(1, new Uint8Array(16_384).fill(255), 0)),
    ),
    "updates": many(
      20_000,
      buildFrame({
        type: FRAME_TYPE.WINDOW_UPDATE,
        payload: Uint8Array.of(0, 0, 0, 1),
      }),
    ),
  };
  for (const [name, bytes] of Object.entries(floods)) {
    world.next({ first: settingsFrame([]), onEnd: () => bytes, closes: true });
    assert(await world.unary() instanceof GrpcFailure, name);
    await world.assertWorks();
  }
});

Deno.test("H2GrpcChannel says when the server speaks something else", async () => {
  await using world = new World();
  const others = [
    new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n"),
    // A TLS alert: unexpected message.
    Uint8Array.of(0x15, 3, 3, 0, 2, 2, 10, 0, 0),
  ];
  for (const first of others) {
    world.next({ first, onEnd: answer });
    const failure = asFailure(await world.unary());
    assertEquals(failure.code, GRPC_STATUS.UNAVAILABLE);
    assertStringIncludes(failure.message, "may speak HTTP/1, or TLS");
  }
});
