import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  buildFrame,
  buildRequest,
  concat,
  dataFrame,
  encodeHeaderBlock,
  encodeMessage,
  hello,
  requestFields,
} from "../../../tests/support/h2_frames.ts";
import { FakePeer, HeaderTexts } from "../../../tests/support/h2_peer.ts";
import { FLAG, FRAME_TYPE, H2_ERROR, MAX_FRAME_BYTES } from "./frame.ts";

const CALM = H2_ERROR.ENHANCE_YOUR_CALM;

Deno.test("H2Connection refuses a call with large headers alone, and keeps their table entries", () => {
  const peer = new FakePeer({ answer: undefined });
  peer.send(hello(), buildRequest(1));
  // A field of the table before and behind what is too large.
  const entry = (value: string): Uint8Array =>
    concat(
      Uint8Array.of(0x40),
      encodeHeaderBlock([["tracestate", value]]).subarray(1),
    );
  const block = concat(
    encodeHeaderBlock(requestFields()),
    entry("before"),
    encodeHeaderBlock([["x", "y".repeat(100_000)]]),
    entry("behind"),
  );
  peer.send(...splitBlock(3, block));
  const frames = peer.take().filter(({ streamId }) => streamId === 3);
  const texts = new HeaderTexts().decode(frames[0]!.payload);
  assertEquals(texts?.slice(0, 3), [
    ":status: 200",
    "content-type: application/grpc",
    "grpc-status: 8",
  ]);
  assertStringIncludes(texts?.[3] ?? "", "16384 bytes");
  assertStringIncludes(texts?.[3] ?? "", "MAX_HEADER_BYTES");
  assertEquals(frames.map(({ type }) => type), [
    FRAME_TYPE.HEADERS,
    FRAME_TYPE.RST_STREAM,
  ]);
  assertEquals(peer.engine.budget.usedBytes, 0);
  // What is left of its body, and a call that names both entries.
  peer.send(dataFrame(3, encodeMessage(new Uint8Array(9))));
  peer.send(
    buildFrame({
      type: FRAME_TYPE.HEADERS,
      flags: FLAG.END_HEADERS,
      streamId: 5,
      payload: concat(
        encodeHeaderBlock(requestFields()),
        Uint8Array.of(0xbe, 0xbf),
      ),
    }),
    dataFrame(5, encodeMessage(Uint8Array.of(7))),
  );
  assert(!peer.isEnded);
  assertEquals(peer.requests.map(({ stream }) => stream.id), [1, 5]);
  assertEquals(peer.requests[0]?.stream.isClosed, false);
  peer.connection.closed();
});

Deno.test("H2Connection ends for headers that are larger than is decoded, or find no memory", () => {
  const block = encodeHeaderBlock([["x", "y".repeat(200_000)]]);
  for (
    const [limits, sentBytes] of [
      [{}, 131_072],
      [{ maxServerBufferedBytes: 40_000 }, 16_384],
    ] as const
  ) {
    const peer = new FakePeer({ limits });
    peer.send(hello());
    let taken = 0;
    for (const frame of splitBlock(1, block)) {
      peer.send(frame);
      if (peer.isEnded) break;
      taken += frame.length - 9;
    }
    assertEquals(taken, sentBytes);
    assertEquals(peer.takeGoaway(), CALM);
    assertEquals(peer.engine.budget.usedBytes, 0);
    peer.connection.closed();
  }
});

Deno.test("H2Connection ends a flood of calls with large headers, unless others are answered", () => {
  const large = splitBlock(
    1,
    encodeHeaderBlock(requestFields({ x: "y".repeat(20_000) })),
  );
  const largeAt = (id: number): Uint8Array[] =>
    large.map((frame) => {
      const moved = frame.slice();
      new DataView(moved.buffer).setUint32(5, id);
      return moved;
    });
  const flood = new FakePeer({ limits: { resetBurst: 20, resetPerSecond: 2 } });
  flood.send(hello());
  let id = 1;
  for (; !flood.isEnded && id < 5_000; id += 2) flood.send(...largeAt(id));
  assertEquals(id, 43);
  assertEquals(flood.takeGoaway(), CALM);
  flood.connection.closed();
  const mixed = new FakePeer({ limits: { resetBurst: 20, resetPerSecond: 2 } });
  mixed.send(hello());
  for (let at = 1; at < 2_000; at += 4) {
    mixed.send(...largeAt(at), buildRequest(at + 2));
  }
  assert(!mixed.isEnded);
  assertEquals(mixed.requests.length, 500);
  mixed.connection.closed();
});

/** The frames of a header block, each as large as one may be. */
function splitBlock(streamId: number, block: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < block.length; at += MAX_FRAME_BYTES) {
    const end = at + MAX_FRAME_BYTES;
    frames.push(buildFrame({
      type: at === 0 ? FRAME_TYPE.HEADERS : FRAME_TYPE.CONTINUATION,
      flags: end < block.length ? 0 : FLAG.END_HEADERS,
      streamId,
      payload: block.subarray(at, end),
    }));
  }
  return frames;
}
