import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  buildFrame,
  concat,
  dataFrame,
  encodeHeaderBlock,
  encodeMessage,
  headersFrame,
  settingsFrame,
} from "../../../tests/support/h2_frames.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import { TimerWheel } from "../timer_wheel.ts";
import { H2ClientConnection } from "./client_connection.ts";
import type { StreamLoss } from "./client_stream.ts";
import { FLAG, FRAME_TYPE, H2_ERROR } from "./frame.ts";
import { type ResponseHead, responseHeads } from "./response_head.ts";

const BLOCK = encodeHeaderBlock([[":method", "POST"]]);
const HELLO = settingsFrame([]);
const OK_HEADERS = headersFrame(1, [
  [":status", "200"],
  ["content-type", "application/grpc"],
]);
const TRAILERS = headersFrame(
  1,
  [["grpc-status", "0"], ["x-other", "1"]],
  FLAG.END_HEADERS | FLAG.END_STREAM,
);
const MESSAGE = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const PREFIXED = encodeMessage(MESSAGE);
const HEADS = responseHeads();
/** All that a server sends for one call. */
const ANSWER = [
  HELLO,
  buildFrame({ type: FRAME_TYPE.SETTINGS, flags: FLAG.ACK }),
  buildFrame({ type: FRAME_TYPE.PING, payload: new Uint8Array(8) }),
  OK_HEADERS,
  dataFrame(1, PREFIXED.subarray(0, 7), 0),
  dataFrame(1, PREFIXED.subarray(7), 0),
  TRAILERS,
];

type End = { readonly head: ResponseHead } | { readonly loss: StreamLoss };

/** A client connection with one call on it, and the events of both. */
class World {
  readonly written: Uint8Array[] = [];
  readonly messages: Uint8Array[] = [];
  readonly ends: End[] = [];
  readonly clock = new FakeClock(0);
  readonly connection: H2ClientConnection;
  readonly stream;
  isClosed = false;
  retired = 0;
  rooms = 0;
  tooManyPings = 0;

  constructor(options: { readonly maxMessageBytes?: number } = {}) {
    this.connection = new H2ClientConnection({
      write: (bytes) => void this.written.push(bytes),
      unsentBytes: 0,
      end: () => this.isClosed = true,
      destroy: () => this.isClosed = true,
    }, {
      heads: HEADS,
      clock: this.clock,
      wheel: new TimerWheel(this.clock),
      maxMessageBytes: options.maxMessageBytes ?? 1_000,
      keepaliveMs: 5_000,
      keepaliveTimeoutMs: 2_000,
      onRetired: () => this.retired++,
      onRoom: () => this.rooms++,
      onTooManyPings: () => this.tooManyPings++,
    });
    this.connection.start();
    this.stream = this.connection.open(BLOCK, {
      message: (message) => void this.messages.push(message),
      ended: (head) => void this.ends.push({ head }),
      lost: (loss) => void this.ends.push({ loss }),
    });
    this.connection.closeSend(this.stream);
  }

  /** The one end of the call; fails when it had none, or several. */
  get end(): End {
    assertEquals(this.ends.length, 1);
    return this.ends[0]!;
  }
}

function goaway(lastId: number, code = 0): Uint8Array {
  const payload = new Uint8Array(8);
  const view = new DataView(payload.buffer);
  view.setUint32(0, lastId);
  view.setUint32(4, code);
  return buildFrame({ type: FRAME_TYPE.GOAWAY, payload });
}

function rstStream(code: number): Uint8Array {
  const payload = new Uint8Array(4);
  new DataView(payload.buffer).setUint32(0, code);
  return buildFrame({ type: FRAME_TYPE.RST_STREAM, streamId: 1, payload });
}

Deno.test("H2ClientConnection gives message and status of a call, however the bytes are cut", () => {
  const bytes = concat(...ANSWER);
  for (let size = 1; size <= bytes.length; size++) {
    const world = new World();
    for (let at = 0; at < bytes.length; at += size) {
      world.connection.receive(bytes.slice(at, at + size));
    }
    assertEquals(world.messages, [MESSAGE]);
    const { end } = world;
    assert("head" in end);
    assertEquals([end.head.status, end.head.grpcStatus], ["200", "0"]);
    assertEquals(world.connection.hasRoom, true);
  }
});

Deno.test("H2ClientConnection ends a call once with a value when GOAWAY comes at any frame", () => {
  for (const lastId of [0, 1, 2 ** 31 - 1]) {
    for (let at = 1; at <= ANSWER.length; at++) {
      const world = new World();
      for (const frame of ANSWER.toSpliced(at, 0, goaway(lastId))) {
        world.connection.receive(frame);
      }
      // A call that the server has not processed may be retried.
      const isLost = lastId === 0 && at < ANSWER.length;
      const { end } = world;
      assertEquals(
        "loss" in end ? end.loss.kind : "ended",
        isLost ? "unprocessed" : "ended",
      );
      assertEquals([world.connection.hasRoom, world.isClosed], [false, true]);
      assertEquals(world.retired, 1);
    }
  }
});

Deno.test("H2ClientConnection ends a call once with a value when it is reset at any frame", () => {
  for (const code of Object.values(H2_ERROR)) {
    for (let at = 1; at < ANSWER.length; at++) {
      const world = new World();
      for (const frame of ANSWER.toSpliced(at, 0, rstStream(code))) {
        world.connection.receive(frame);
      }
      const { end } = world;
      assert("loss" in end);
      assertEquals(
        end.loss,
        code === H2_ERROR.REFUSED_STREAM
          ? { kind: "unprocessed", reason: "the server refused the stream" }
          : { kind: "reset", code },
      );
      // Frames that the server had already sent do not harm the connection.
      assertEquals(world.connection.hasRoom, true);
    }
  }
});

Deno.test("H2ClientConnection ends a call once with a value when the connection is cut at any byte", () => {
  const bytes = concat(...ANSWER);
  for (let at = 0; at < bytes.length; at++) {
    const world = new World();
    world.connection.receive(bytes.slice(0, at));
    world.connection.closed("cut");
    const { end } = world;
    assert("loss" in end);
    assertEquals(end.loss, { kind: "lost", reason: "cut" });
    // Nothing after it changes anything.
    world.connection.receive(bytes.slice(at));
    world.connection.closed("again");
    assertEquals(world.ends.length, 1);
  }
});

Deno.test("H2ClientConnection survives whatever a server sends", async () => {
  await eachRound({ rounds: 1_000 }, ({ random }) => {
    const below = (max: number): number => random.below(max);
    const world = new World();
    const frames = [...ANSWER];
    for (let changes = below(4); changes >= 0; changes--) {
      const at = below(frames.length);
      const frame = frames[at]!.slice();
      switch (below(4)) {
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
            payload: Uint8Array.from({ length: below(64) }, () => below(256)),
          });
          break;
        case 3:
          if (frames.length > 1) frames.splice(at, 1);
          break;
      }
    }
    for (const frame of frames) world.connection.receive(frame);
    world.connection.closed("over");
    assertEquals(world.ends.length, 1);
  });
});

Deno.test("H2ClientConnection ends when a server breaks the rules of the protocol", () => {
  const broken: Readonly<Record<string, readonly Uint8Array[]>> = {
    "no settings first": [OK_HEADERS],
    "push": [
      HELLO,
      buildFrame({
        type: FRAME_TYPE.PUSH_PROMISE,
        streamId: 1,
        payload: BLOCK,
      }),
    ],
    "a stream of its own": [HELLO, headersFrame(2, [[":status", "200"]])],
    "a stream to come": [HELLO, headersFrame(3, [[":status", "200"]])],
    "unreadable headers": [
      HELLO,
      buildFrame({
        type: FRAME_TYPE.HEADERS,
        flags: FLAG.END_HEADERS,
        streamId: 1,
        payload: Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff),
      }),
    ],
    "a frame within headers": [
      HELLO,
      headersFrame(1, [[":status", "200"]], 0),
      buildFrame({ type: FRAME_TYPE.PING, payload: new Uint8Array(8) }),
    ],
    "endless headers": [
      HELLO,
      headersFrame(1, [[":status", "200"]], 0),
      ...Array.from({ length: 20 }, () =>
        buildFrame({
          type: FRAME_TYPE.CONTINUATION,
          streamId: 1,
          payload: new Uint8Array(16_000),
        })),
    ],
    "endless settings": Array.from({ length: 10_010 }, () => HELLO),
    "more data than allowed": [
      HELLO,
      OK_HEADERS,
      ...Array.from(
        { length: 17 },
        () => dataFrame(1, new Uint8Array(16_384), 0),
      ),
    ],
  };
  for (const [name, frames] of Object.entries(broken)) {
    const world = new World({ maxMessageBytes: 1_000_000 });
    if (name.startsWith("more data")) {
      world.connection.holdBack(world.stream);
    }
    for (const frame of frames) world.connection.receive(frame);
    const { end } = world;
    assert("loss" in end, name);
  }
});

Deno.test("H2ClientConnection refuses messages that are too large, compressed or cut short, and keeps the connection", () => {
  const faults = [
    [dataFrame(1, encodeMessage(new Uint8Array(1_001)), 0), "too_large"],
    [dataFrame(1, encodeMessage(MESSAGE, 1), 0), "broken"],
    [dataFrame(1, PREFIXED.subarray(0, 9)), "broken"],
    [concat(dataFrame(1, PREFIXED.subarray(0, 9), 0), TRAILERS), "broken"],
  ] as const;
  for (const [data, kind] of faults) {
    const world = new World();
    world.connection.receive(concat(HELLO, OK_HEADERS, data));
    const { end } = world;
    assertEquals("loss" in end && end.loss.kind, kind);
    assertEquals(world.connection.hasRoom, true);
  }
});

Deno.test("H2ClientConnection asks a silent server whether it is there, and gives it up", () => {
  const world = new World();
  world.connection.receive(HELLO);
  world.written.length = 0;
  world.clock.advance(5_020);
  const [ping] = world.written;
  assertEquals(ping?.[3], FRAME_TYPE.PING);
  world.connection.receive(buildFrame({
    type: FRAME_TYPE.PING,
    flags: FLAG.ACK,
    payload: ping!.slice(9),
  }));
  world.clock.advance(4_000);
  assertEquals(world.ends, []);
  world.clock.advance(3_100);
  const { end } = world;
  assertEquals("loss" in end && end.loss, {
    kind: "lost",
    reason: "the server does not answer",
  });
  assertEquals(world.isClosed, true);
});

Deno.test("H2ClientConnection sends no more than the windows of the server allow", async () => {
  const world = new World();
  world.connection.receive(settingsFrame([[4, 10]]));
  const bytes = Uint8Array.from({ length: 25 }, (_, index) => index);
  const stream = world.connection.open(BLOCK, {
    message: () => {},
    ended: () => {},
    lost: () => {},
  });
  world.written.length = 0;
  const sent = world.connection.send(stream, bytes);
  const dataSent = (): number => {
    let length = 0;
    const all = concat(...world.written);
    for (let at = 0; at < all.length;) {
      const size = all[at]! << 16 | all[at + 1]! << 8 | all[at + 2]!;
      if (all[at + 3] === FRAME_TYPE.DATA) length += size;
      at += 9 + size;
    }
    return length;
  };
  const more = (count: number): Uint8Array => {
    const payload = Uint8Array.of(0, 0, 0, count);
    return buildFrame({
      type: FRAME_TYPE.WINDOW_UPDATE,
      streamId: stream.id,
      payload,
    });
  };
  await Promise.resolve();
  assertEquals(dataSent(), 10);
  world.connection.receive(more(10));
  assertEquals(dataSent(), 20);
  world.connection.receive(more(10));
  assertEquals(dataSent(), 25);
  await sent;
});

Deno.test("H2ClientConnection tells when there is more room, and when the server was asked too often", () => {
  const world = new World();
  const limit = (streams: number): Uint8Array => settingsFrame([[3, streams]]);
  world.connection.receive(limit(1));
  assertEquals([world.connection.hasRoom, world.rooms], [false, 0]);
  world.connection.receive(limit(2));
  assertEquals([world.connection.hasRoom, world.rooms], [true, 1]);
  world.connection.receive(limit(2));
  assertEquals(world.rooms, 1);
  const leave = (code: number, words: string): Uint8Array => {
    const text = new TextEncoder().encode(words);
    const payload = Uint8Array.of(0, 0, 0, 1, 0, 0, 0, code, ...text);
    return buildFrame({ type: FRAME_TYPE.GOAWAY, payload });
  };
  world.connection.receive(leave(H2_ERROR.NO_ERROR, "too_many_pings"));
  world.connection.receive(leave(H2_ERROR.ENHANCE_YOUR_CALM, "calm"));
  assertEquals(world.tooManyPings, 0);
  world.connection.receive(
    leave(H2_ERROR.ENHANCE_YOUR_CALM, "too_many_pings"),
  );
  assertEquals([world.tooManyPings, world.ends.length], [1, 0]);
});

Deno.test("H2ClientConnection ends when SETTINGS make a window too large", () => {
  const world = new World();
  world.connection.receive(HELLO);
  const payload = Uint8Array.of(0x7f, 0xff, 0, 0);
  world.connection.receive(
    buildFrame({ type: FRAME_TYPE.WINDOW_UPDATE, streamId: 1, payload }),
  );
  assertEquals(world.ends, []);
  world.connection.receive(settingsFrame([[4, 2 ** 31 - 1]]));
  assertEquals("loss" in world.end && world.end.loss.kind, "lost");
});
