import { assert, assertEquals } from "@std/assert";
import {
  buildFrame,
  concat,
  type ReceivedFrame,
} from "../../../tests/support/h2_frames.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { FrameReader } from "./frame.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const PREFACE_BYTES = new TextEncoder().encode(PREFACE);

Deno.test("FrameReader cuts the same frames however they come", () => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 100; round++) {
    const frames = Array.from({ length: 1 + random.below(8) }, () => ({
      type: random.below(12),
      flags: random.below(256),
      streamId: random.below(0x7fff_ffff),
      payload: random.bytes(random.chance(0.3) ? 0 : random.below(4_000)),
    }));
    const bytes = concat(PREFACE_BYTES, ...frames.map(buildFrame));
    const whole = read([bytes]);
    assertEquals(whole.frames, frames);
    const parts: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + random.below(round % 2 === 0 ? 3 : 60);
      parts.push(bytes.slice(at, end));
      at = end;
    }
    assertEquals(read(parts), whole);
    let asked = 0;
    const pausing = read([bytes], () => asked++ % 2 === 0);
    assertEquals(pausing, whole);
  }
});

Deno.test("FrameReader tells at the first wrong byte that it is not HTTP/2", () => {
  for (let length = 0; length < PREFACE.length; length++) {
    const bytes = concat(PREFACE_BYTES.subarray(0, length), Uint8Array.of(0));
    assertEquals(read([bytes]).fault, "preface");
    assertEquals(
      read([...bytes].map((b) => Uint8Array.of(b))).fault,
      "preface",
    );
  }
  assertEquals(read([PREFACE_BYTES.subarray(0, 20)]).fault, undefined);
});

Deno.test("FrameReader takes 16384 bytes and no more", () => {
  const most = buildFrame({ type: 0, payload: new Uint8Array(16_384) });
  assertEquals(read([PREFACE_BYTES, most]).frames.length, 1);
  const over = Uint8Array.of(0, 0x40, 1, 0, 0, 0, 0, 0, 1);
  assertEquals(read([PREFACE_BYTES, over]).fault, "frame_size");
  const bytes = [...over].map((byte) => Uint8Array.of(byte));
  assertEquals(read([PREFACE_BYTES, ...bytes]).fault, "frame_size");
});

Deno.test("FrameReader reads nothing after a frame that ends the reading", () => {
  const frame = buildFrame({ type: 9 });
  let count = 0;
  const reader = new FrameReader({
    frame: () => {
      if (++count === 2) reader.end();
    },
    preface: () => {},
    unreadable: () => {},
  });
  reader.feed(concat(PREFACE_BYTES, frame, frame, frame, frame.subarray(0, 4)));
  reader.feed(frame);
  assertEquals(count, 2);
  assert(!reader.isWithinFrame);
});

Deno.test("FrameReader ignores the reserved bit of a stream", () => {
  const frame = buildFrame({ type: 0, streamId: 5 });
  frame[5] = 0x80;
  assertEquals(read([PREFACE_BYTES, frame]).frames[0]?.streamId, 5);
});

interface Read {
  readonly frames: ReceivedFrame[];
  readonly prefaces: number;
  readonly fault: string | undefined;
}

function read(
  parts: readonly Uint8Array[],
  mustPause?: () => boolean,
): Read {
  const frames: ReceivedFrame[] = [];
  let prefaces = 0;
  let fault: string | undefined;
  const reader = new FrameReader({
    frame({ type, flags, streamId, bytes, start, end }) {
      frames.push({ type, flags, streamId, payload: bytes.slice(start, end) });
    },
    preface: () => prefaces++,
    unreadable: (reason) => fault = reason,
  }, { mustPause });
  for (const part of parts) {
    reader.feed(part);
    while (reader.isPaused) reader.resume();
  }
  return { frames, prefaces, fault };
}
