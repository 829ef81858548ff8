import { assert, assertEquals } from "@std/assert";
import {
  buildRequest,
  dataFrame,
  encodeMessage,
  headersFrame,
  hello,
  pingFrame,
  type ReceivedFrame,
  resetFrame,
  settingsFrame,
  windowUpdate,
} from "../../../tests/support/h2_frames.ts";
import { FakePeer } from "../../../tests/support/h2_peer.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { FLAG, FRAME_TYPE } from "./frame.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import type { H2Stream } from "./stream.ts";

Deno.test("H2Connection sends no more than the windows of the peer hold", () => {
  const random = new SeededRandom(9);
  for (let round = 0; round < 60; round++) {
    const sizes = new Map<number, number>();
    const peer = new FakePeer({
      answer({ stream, message }) {
        const size = sizes.get(stream.id)!;
        stream.answer(new Uint8Array(size).fill(message[0]!));
        stream.release();
      },
    });
    let initial = random.below(300);
    peer.send(hello([[4, initial]]));
    peer.take();
    let window = 65_535;
    const windows = new Map<number, number>();
    const got = new Map<number, number[]>();
    const ended = new Set<number>();
    const note = (frames: readonly ReceivedFrame[]): void => {
      for (const { type, streamId, payload, flags } of frames) {
        if (type === FRAME_TYPE.DATA) {
          window -= payload.length;
          const left = windows.get(streamId)! - payload.length;
          windows.set(streamId, left);
          assert(window >= 0 && left >= 0, "more than a window holds");
          assert(!ended.has(streamId), "DATA after the end");
          got.get(streamId)!.push(...payload);
        }
        if ((flags & FLAG.END_STREAM) !== 0 && type === FRAME_TYPE.HEADERS) {
          ended.add(streamId);
        }
      }
    };
    const streams = 1 + random.below(5);
    for (let index = 0; index < streams; index++) {
      const id = index * 2 + 1;
      sizes.set(id, random.below(random.chance(0.3) ? 40_000 : 400));
      windows.set(id, initial);
      got.set(id, []);
      peer.send(buildRequest(id, Uint8Array.of(id)));
      note(peer.take());
    }
    for (let step = 0; ended.size < streams; step++) {
      assert(step < 20_000, "it does not end");
      const id = 1 + 2 * random.below(streams);
      const more = 1 + random.below(8_000);
      if (random.chance(0.1)) {
        const next = random.below(2_000);
        for (const [key, value] of windows) {
          windows.set(key, value + next - initial);
        }
        initial = next;
        peer.send(settingsFrame([[4, next]]));
      } else if (random.chance(0.3)) {
        window += more;
        peer.send(windowUpdate(0, more));
      } else {
        windows.set(id, windows.get(id)! + more);
        peer.send(windowUpdate(id, more));
      }
      note(peer.take());
    }
    for (const [id, bytes] of got) {
      const size = sizes.get(id)!;
      const expected = encodeMessage(new Uint8Array(size).fill(id));
      assertEquals(Uint8Array.from(bytes), expected);
    }
    peer.connection.closed();
  }
});

Deno.test("H2Connection shares the connection's window among streams", () => {
  const peer = new FakePeer({
    answer({ stream }) {
      stream.answer(new Uint8Array(200_000));
      stream.release();
    },
  });
  peer.send(hello([[4, 0x7fff_ffff]]), buildRequest(1), buildRequest(3));
  peer.take();
  peer.send(windowUpdate(0, 65_536));
  const data = peer.take().filter(({ type }) => type === FRAME_TYPE.DATA);
  assertEquals(data.map(({ streamId }) => streamId), [1, 3, 1, 3]);
  peer.connection.closed();
});

Deno.test("H2Connection gives room again for what it has received", () => {
  const peer = new FakePeer();
  peer.send(hello());
  const [, first] = peer.take();
  assertEquals(first?.type, FRAME_TYPE.WINDOW_UPDATE);
  const { connectionWindowBytes, streamWindowBytes } = DEFAULT_LIMITS;
  let window = connectionWindowBytes;
  let stream = streamWindowBytes;
  peer.send(headersFrame(1));
  const body = encodeMessage(new Uint8Array(4_000_000));
  for (let at = 0; at < body.length; at += 16_384) {
    const part = body.subarray(at, at + 16_384);
    window -= part.length;
    stream -= part.length;
    assert(window >= 0 && stream >= 0, `stuck at ${at}`);
    const isEnd = at + 16_384 >= body.length;
    peer.send(dataFrame(1, part, isEnd ? FLAG.END_STREAM : 0));
    for (const { type, streamId, payload } of peer.take()) {
      if (type !== FRAME_TYPE.WINDOW_UPDATE) continue;
      const more = new DataView(payload.buffer).getUint32(0);
      if (streamId === 0) window += more;
      else stream += more;
    }
  }
  assertEquals(peer.requests[0]?.message.length, 4_000_000);
  assert(window <= connectionWindowBytes && window > 0);
  peer.connection.closed();
});

Deno.test("H2Connection refuses more than the windows it has given", () => {
  const small = { streamWindowBytes: 100, connectionWindowBytes: 65_535 };
  const stream = new FakePeer({ limits: small });
  stream.send(hello(), headersFrame(1));
  stream.take();
  stream.send(dataFrame(1, new Uint8Array(101), 0));
  assertEquals(stream.takeResets(), [[1, 3]]);
  stream.connection.closed();
  const whole = new FakePeer({ limits: { connectionWindowBytes: 100 } });
  whole.send(hello(), headersFrame(1), dataFrame(1, new Uint8Array(101), 0));
  assertEquals(whole.takeGoaway(), 3);
  whole.connection.closed();
});

Deno.test("H2Connection bounds what unfinished messages hold, for one peer and for all", () => {
  const limits = { maxBufferedBytes: 1_000, maxServerBufferedBytes: 1_500 };
  const first = new FakePeer({ limits });
  const second = new FakePeer({ engine: first.engine });
  const part = encodeMessage(new Uint8Array(5_000)).subarray(0, 605);
  const half = (id: number): Uint8Array[] => [
    headersFrame(id),
    dataFrame(id, part, 0),
  ];
  first.send(hello(), ...half(1));
  first.take();
  first.send(...half(3));
  assertEquals(first.takeResets(), [[3, 0]]);
  second.send(hello(), ...half(1), ...half(3));
  assertEquals(second.takeResets(), [[3, 0]]);
  assertEquals(first.engine.budget.usedBytes, 1_200);
  first.send(resetFrame(1));
  second.connection.closed();
  assertEquals(first.engine.budget.usedBytes, 0);
  first.connection.closed();
});

Deno.test("H2Connection makes answers wait for a slow reader, but nothing else", () => {
  const peer = new FakePeer({ limits: { highWaterBytes: 70_000 } });
  peer.send(hello([[4, 0x7fff_ffff]]), windowUpdate(0, 0x7000_0000));
  peer.unsentBytes = 80_000;
  peer.send(pingFrame());
  peer.take();
  peer.send(buildRequest(1), buildRequest(3), pingFrame(), resetFrame(3));
  assertEquals(peer.requests.length, 2);
  const types = peer.take().map(({ type }) => type);
  assertEquals(types.includes(FRAME_TYPE.DATA), false);
  assert(types.includes(FRAME_TYPE.PING));
  peer.unsentBytes = 0;
  peer.connection.drained();
  assertEquals(
    peer.take().map(({ type, streamId }) => [type, streamId]),
    [[0, 1], [1, 1]],
  );
  peer.connection.closed();
});

Deno.test("H2Connection gives up a peer that makes its output grow without end", () => {
  const peer = new FakePeer();
  peer.send(hello());
  peer.unsentBytes = DEFAULT_LIMITS.maxUnsentBytes + 1;
  peer.send(pingFrame());
  assert(peer.isDestroyed);
  peer.connection.closed();
});

Deno.test("H2Stream.send() tells when a message has left", () => {
  let drained = 0;
  let stream: H2Stream | undefined;
  const peer = new FakePeer({
    answer(request) {
      stream = request.stream;
      stream.owner = { cancelled: () => {}, drained: () => drained++ };
    },
  });
  peer.send(hello([[4, 20]]), buildRequest(1));
  assertEquals(stream?.send(new Uint8Array(10)), true);
  assertEquals(stream?.send(new Uint8Array(10)), false);
  assertEquals(drained, 0);
  peer.send(windowUpdate(1, 9));
  assertEquals(drained, 0);
  peer.send(windowUpdate(1, 1));
  assertEquals(drained, 1);
  stream?.finish({ code: 0, message: "" });
  stream?.release();
  return Promise.resolve().then(() => {
    assertEquals(peer.take().at(-1)?.flags, 5);
    peer.connection.closed();
  });
});
