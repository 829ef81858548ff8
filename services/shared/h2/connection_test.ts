import { assert, assertEquals } from "@std/assert";
import {
  buildFrame,
  buildRequest,
  concat,
  dataFrame,
  encodeMessage,
  headersFrame,
  hello,
  pingFrame,
  type ReceivedFrame,
  requestFields,
  resetFrame,
  settingsFrame,
  windowUpdate,
} from "../../../tests/support/h2_frames.ts";
import { FakePeer, HeaderTexts } from "../../../tests/support/h2_peer.ts";
import { FLAG, FRAME_TYPE } from "./frame.ts";

const HEADERS = [":status: 200", "content-type: application/grpc"];

Deno.test("H2Connection answers all requests of a read in one write", () => {
  const peer = new FakePeer();
  peer.send(hello());
  assertEquals(peer.writes.length, 1);
  peer.take();
  peer.send(buildRequest(1), buildRequest(3), pingFrame(), buildRequest(5));
  assertEquals(peer.writes.length, 2);
  const texts = new HeaderTexts();
  const frames = peer.take();
  assertEquals(frames.map(({ streamId }) => streamId), [
    ...[1, 1, 1],
    ...[3, 3, 3],
    0,
    ...[5, 5, 5],
  ]);
  for (const at of [0, 3, 7]) {
    assertAnswer(frames.slice(at, at + 3), Uint8Array.of(1, 2, 3), texts);
  }
  peer.connection.closed();
});

Deno.test("H2Connection does the same however its input is cut", () => {
  const input = concat(
    hello([[4, 100]]),
    buildRequest(1),
    headersFrame(3, requestFields(), 0),
    buildFrame({ type: FRAME_TYPE.CONTINUATION, flags: 4, streamId: 3 }),
    dataFrame(3, encodeMessage(new Uint8Array(200)).subarray(0, 50), 0),
    pingFrame(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)),
    dataFrame(3, encodeMessage(new Uint8Array(200)).subarray(50), 0),
    headersFrame(3, [["x", "y"]], FLAG.END_HEADERS | FLAG.END_STREAM),
    windowUpdate(3, 60),
    headersFrame(5, requestFields({ ":path": "/unknown" })),
    dataFrame(5, encodeMessage(new Uint8Array(3))),
    windowUpdate(3, 1_000),
    headersFrame(7, requestFields({ "content-type": "text/plain" }), 5),
    buildRequest(9),
    dataFrame(0, new Uint8Array(1)),
    buildRequest(11),
  );
  const run = (cuts: readonly number[]): ReceivedFrame[] => {
    const peer = new FakePeer();
    let at = 0;
    for (const cut of [...cuts, input.length]) {
      peer.send(input.subarray(at, cut));
      at = cut;
    }
    peer.connection.closed();
    return peer.take();
  };
  const expected = run([]);
  assert(expected.length > 15);
  for (let cut = 1; cut < input.length; cut++) {
    assertEquals(run([cut]), expected, `cut at ${cut}`);
  }
  assertEquals(run(Array.from(input, (_, at) => at)), expected);
});

Deno.test("H2Connection tells callers why a request cannot be answered", () => {
  const compressed = encodeMessage(new Uint8Array(3), 1);
  for (
    const [changes, body, told] of [
      [{ ":path": "/x" }, encodeMessage(new Uint8Array(3)), "grpc-status: 12"],
      [{}, new Uint8Array(0), "grpc-status: 13"],
      [{}, encodeMessage(new Uint8Array(3)).subarray(0, 4), "grpc-status: 13"],
      [{}, encodeMessage(new Uint8Array(3)).subarray(0, 7), "grpc-status: 13"],
      [
        {},
        concat(
          encodeMessage(new Uint8Array(1)),
          encodeMessage(new Uint8Array(1)),
        ),
        "grpc-status: 12",
      ],
      [{}, encodeMessage(new Uint8Array(101)), "grpc-status: 8"],
      [{}, compressed, "grpc-status: 13"],
      [{ "grpc-encoding": "gzip" }, compressed, "grpc-status: 12"],
      [
        { "grpc-encoding": "gzip" },
        compressed,
        "grpc-accept-encoding: identity",
      ],
      [{}, encodeMessage(new Uint8Array(1), 2), "grpc-status: 13"],
      [
        { "grpc-timeout": "1x" },
        encodeMessage(new Uint8Array(1)),
        "grpc-status: 13",
      ],
      [
        { "grpc-timeout": "0m" },
        encodeMessage(new Uint8Array(1)),
        "grpc-status: 4",
      ],
      [{ ":method": "GET" }, encodeMessage(new Uint8Array(1)), ":status: 405"],
      [
        { "content-type": "text/html" },
        encodeMessage(new Uint8Array(1)),
        ":status: 415",
      ],
      [
        { x: "y".repeat(9_000) },
        encodeMessage(new Uint8Array(1)),
        "grpc-status: 8",
      ],
      [
        { x: "y".repeat(9_000), "content-type": "text/html" },
        encodeMessage(new Uint8Array(1)),
        ":status: 431",
      ],
    ] as const
  ) {
    const peer = new FakePeer({
      limits: { maxReceiveBytes: 100, maxHeaderListBytes: 8_192 },
    });
    peer.send(hello());
    peer.take();
    peer.send(headersFrame(1, requestFields(changes)), dataFrame(1, body));
    const frames = peer.take();
    const answer = frames.find(({ type }) => type === FRAME_TYPE.HEADERS)!;
    assertEquals(answer.flags, FLAG.END_HEADERS | FLAG.END_STREAM);
    const texts = new HeaderTexts().decode(answer.payload);
    assert(texts?.includes(told), `${told}: ${texts}`);
    assertEquals(peer.requests, []);
    // A peer that may still send its body is told to stop.
    for (const { type, payload } of frames) {
      if (type === FRAME_TYPE.RST_STREAM) assertEquals(payload.at(3), 0);
    }
    peer.send(buildRequest(3));
    assertEquals(peer.requests.length, 1);
    peer.connection.closed();
  }
});

Deno.test("H2Connection ends a call at its deadline, answered or not", () => {
  let cancelled = 0;
  const peer = new FakePeer({
    answer({ stream }) {
      stream.owner = { cancelled: () => cancelled++, drained: () => {} };
    },
  });
  const timed = requestFields({ "grpc-timeout": "50m" });
  peer.send(
    hello(),
    headersFrame(1, timed),
    headersFrame(3, timed),
    dataFrame(3, encodeMessage(new Uint8Array(1))),
  );
  peer.take();
  peer.clock.advance(49);
  assertEquals(cancelled, 0);
  peer.clock.advance(20);
  assertEquals(cancelled, 1);
  // What is written outside of a read goes out in a microtask.
  return Promise.resolve().then(() => {
    const texts = new HeaderTexts();
    const headers = peer.take().filter(({ type }) => type === 1);
    assertEquals(headers.map(({ streamId }) => streamId), [1, 3]);
    for (const { payload } of headers) {
      assert(texts.decode(payload)?.includes("grpc-status: 4"));
    }
    peer.requests[0]?.stream.answer(new Uint8Array(3));
    peer.requests[0]?.stream.release();
    peer.connection.closed();
    assertEquals(peer.clock.pendingTimers, 0);
  });
});

Deno.test("H2Connection tells the owners when the peer or the connection is gone", () => {
  const gone: number[] = [];
  const peer = new FakePeer({
    answer({ stream }) {
      const cancelled = (): void => void gone.push(stream.id);
      stream.owner = { cancelled, drained: () => {} };
    },
  });
  peer.send(hello(), buildRequest(1), buildRequest(3), buildRequest(5));
  peer.send(resetFrame(3));
  assertEquals(gone, [3]);
  peer.requests[0]?.stream.answer(new Uint8Array(1));
  peer.connection.ended();
  assertEquals(gone, [3, 5]);
  peer.connection.closed();
  assertEquals(gone, [3, 5]);
});

Deno.test("H2Connection.shutdown() lets calls finish and takes no more", async () => {
  const peer = new FakePeer({ answer: undefined });
  peer.send(hello(), buildRequest(1));
  peer.take();
  peer.connection.shutdown();
  await Promise.resolve();
  assertEquals(goaways(peer.take()), [[1, 0]]);
  peer.send(buildRequest(3));
  assertEquals(peer.takeResets(), [[3, 7]]);
  assert(!peer.isEnded);
  peer.requests[0]?.stream.answer(Uint8Array.of(1));
  peer.requests[0]?.stream.release();
  assert(peer.isEnded);
  const frames = peer.take();
  assertEquals(frames.length, 3);
  assertAnswer(frames, Uint8Array.of(1), new HeaderTexts());
  peer.connection.closed();
});

Deno.test("H2Connection.retire() takes what was sent before the peer knew", async () => {
  for (const hears of [true, false]) {
    const peer = new FakePeer();
    peer.send(hello());
    peer.take();
    peer.clock.advance(1_000);
    peer.connection.retire();
    peer.connection.retire();
    await Promise.resolve();
    const frames = peer.take();
    assertEquals(goaways(frames), [[0x7fff_ffff, 0]]);
    const ping = frames.find(({ type }) => type === FRAME_TYPE.PING)!;
    peer.send(buildRequest(1));
    assertEquals(peer.requests.length, 1);
    assert(!peer.isEnded);
    if (hears) peer.send(pingFrame(ping.payload, FLAG.ACK));
    else peer.clock.advance(5_010);
    assertEquals(goaways(peer.take()), [[1, 0]]);
    assert(peer.isEnded);
    peer.connection.closed();
    assertEquals(peer.clock.pendingTimers, 0);
  }
});

Deno.test("H2Connection.conclude() takes what was sent before the peer knew, also of a new peer", async () => {
  for (const hears of [true, false]) {
    const peer = new FakePeer();
    peer.send(hello());
    peer.take();
    // The stop of a server may come while it already retires a connection.
    peer.connection.retire();
    peer.connection.conclude();
    await Promise.resolve();
    const frames = peer.take();
    assertEquals(goaways(frames), [[0x7fff_ffff, 0]]);
    const ping = frames.find(({ type }) => type === FRAME_TYPE.PING)!;
    peer.send(buildRequest(1));
    assertEquals(peer.requests.length, 1);
    assert(!peer.isEnded);
    if (hears) peer.send(pingFrame(ping.payload, FLAG.ACK));
    else peer.clock.advance(1_010);
    assertEquals(goaways(peer.take()), [[1, 0]]);
    assert(peer.isEnded);
    peer.connection.closed();
    assertEquals(peer.clock.pendingTimers, 0);
  }
});

Deno.test("H2Connection.conclude() ends a connection that has not begun", () => {
  const peer = new FakePeer();
  peer.connection.conclude();
  assert(peer.isEnded);
  peer.connection.closed();
  assertEquals(peer.clock.pendingTimers, 0);
});

Deno.test("H2Connection.retire() lets a new peer call before it asks it to leave", async () => {
  for (const hasBegun of [true, false]) {
    const peer = new FakePeer();
    if (hasBegun) peer.send(hello());
    peer.connection.retire();
    if (!hasBegun) {
      peer.clock.advance(1_010);
      peer.send(hello());
    }
    peer.send(buildRequest(1));
    assertEquals(peer.requests.length, 1);
    assertEquals(goaways(peer.take()), []);
    peer.clock.advance(1_010);
    await Promise.resolve();
    const frames = peer.take();
    assertEquals(goaways(frames), [[0x7fff_ffff, 0]]);
    const ping = frames.find(({ type }) => type === FRAME_TYPE.PING)!;
    peer.send(pingFrame(ping.payload, FLAG.ACK));
    assertEquals(goaways(peer.take()), [[1, 0]]);
    assert(peer.isEnded);
    peer.connection.closed();
    assertEquals(peer.clock.pendingTimers, 0);
  }
});

Deno.test("H2Connection survives a method that throws into it", () => {
  const peer = new FakePeer({
    answer() {
      throw new Error("secret detail");
    },
  });
  peer.send(hello(), buildRequest(1));
  assertEquals(peer.takeGoaway(), 2);
  assert(peer.isEnded);
  assertEquals(peer.log.listMessages("error").length, 1);
  peer.connection.closed();
});

Deno.test("H2Connection heeds a table that the peer makes smaller or larger", () => {
  const peer = new FakePeer();
  const texts = new HeaderTexts();
  peer.send(hello(), buildRequest(1), buildRequest(3));
  for (const size of [0, 4_096, 50, 300]) {
    const id = 5 + 4 * peer.requests.length;
    peer.send(
      settingsFrame([[1, size]]),
      buildRequest(id),
      buildRequest(id + 2),
    );
  }
  const frames = peer.take();
  let acks = 0;
  for (const [at, frame] of frames.entries()) {
    if (frame.type === FRAME_TYPE.SETTINGS && frame.flags === FLAG.ACK) {
      const size = [4_096, 0, 4_096, 50, 300][acks++]!;
      texts.resize(size);
    }
    if (frame.type === FRAME_TYPE.HEADERS && frame.flags === 4) {
      assertAnswer(frames.slice(at, at + 3), Uint8Array.of(1, 2, 3), texts);
    }
  }
  assertEquals(acks, 5);
  assertEquals(peer.requests.length, 10);
  peer.connection.closed();
});

function assertAnswer(
  frames: readonly ReceivedFrame[],
  message: Uint8Array,
  texts: HeaderTexts,
): void {
  const [headers, data, trailers] = frames;
  assertEquals(frames.map(({ type }) => type), [1, 0, 1]);
  assertEquals(frames.map(({ flags }) => flags), [4, 0, 5]);
  assertEquals(texts.decode(headers!.payload), HEADERS);
  assertEquals(data?.payload, encodeMessage(message));
  assertEquals(texts.decode(trailers!.payload), ["grpc-status: 0"]);
}

function goaways(
  frames: readonly ReceivedFrame[],
): (readonly [lastId: number, code: number])[] {
  return frames.filter(({ type }) => type === FRAME_TYPE.GOAWAY)
    .map(({ payload }) => {
      const view = new DataView(payload.buffer);
      return [view.getUint32(0), view.getUint32(4)] as const;
    });
}
