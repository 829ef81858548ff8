/**
 * What RFC 9113 and RFC 7541 say of a peer that breaks a rule, and of one that
 * does not, by section. The list follows that of h2spec.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import {
  buildFrame,
  buildRequest,
  concat,
  dataFrame,
  encodeHeaderBlock,
  encodeMessage,
  headersFrame,
  hello,
  pingFrame,
  requestFields,
  resetFrame,
  settingsFrame,
  windowUpdate,
} from "../../../tests/support/h2_frames.ts";
import { FakePeer } from "../../../tests/support/h2_peer.ts";
import { FLAG, FRAME_TYPE, H2_ERROR } from "./frame.ts";

/** The outcome that a case expects. */
type Outcome =
  /** The connection ends with this code. */
  | readonly ["goaway", keyof typeof H2_ERROR]
  /** Stream 1 ends with this code, and nothing else. */
  | readonly ["reset", keyof typeof H2_ERROR]
  /** The stream is answered. */
  | readonly ["answered"];

type Case = readonly [
  section: string,
  what: string,
  outcome: Outcome,
  sent: readonly Uint8Array[],
];

const { END_HEADERS, END_STREAM, PADDED, PRIORITY, ACK } = FLAG;
const TYPE = FRAME_TYPE;
const BLOCK = encodeHeaderBlock(requestFields());
const CALL = encodeMessage(Uint8Array.of(1, 2, 3));
const LAST = END_HEADERS | END_STREAM;

const frame = buildFrame;
const zeros = (length: number): Uint8Array => new Uint8Array(length);
const open = headersFrame(1);

/** A call whose headers are these bytes. */
function block(...payload: readonly (number | Uint8Array)[]): Uint8Array {
  const bytes = payload.map((part) =>
    typeof part === "number" ? Uint8Array.of(part) : part
  );
  return frame({
    type: TYPE.HEADERS,
    flags: END_HEADERS,
    streamId: 1,
    payload: concat(...bytes),
  });
}

function fields(
  changes: Readonly<Record<string, string | undefined>>,
): Uint8Array {
  return headersFrame(1, requestFields(changes));
}

/** Headers in several frames. */
function parts(...sizes: readonly number[]): Uint8Array[] {
  let at = 0;
  return [...sizes, BLOCK.length].map((size, i) =>
    frame({
      type: i === 0 ? TYPE.HEADERS : TYPE.CONTINUATION,
      flags: i === sizes.length ? END_HEADERS : 0,
      streamId: 1,
      payload: BLOCK.slice(at, at += size),
    })
  );
}

const PROTOCOL = ["goaway", "PROTOCOL_ERROR"] as const;
const SIZE = ["goaway", "FRAME_SIZE_ERROR"] as const;
const FLOW = ["goaway", "FLOW_CONTROL_ERROR"] as const;
const CLOSED = ["goaway", "STREAM_CLOSED"] as const;
const COMPRESSION = ["goaway", "COMPRESSION_ERROR"] as const;
const MALFORMED = ["reset", "PROTOCOL_ERROR"] as const;
const ANSWERED = ["answered"] as const;

const RFC_9113: readonly Case[] = [
  ["4.1", "an unknown type of frame is ignored", ANSWERED, [
    frame({ type: 0x42, flags: 0xff, streamId: 9, payload: zeros(30) }),
    buildRequest(1),
  ]],
  ["4.1", "flags without a meaning are ignored", ANSWERED, [
    pingFrame(zeros(8), 0xfe),
    buildRequest(1),
  ]],
  ["4.1", "the reserved bit is ignored", ANSWERED, [
    withReservedBit(buildRequest(1)),
  ]],
  ["4.2", "a frame larger than 16,384 bytes is refused", SIZE, [
    Uint8Array.of(0, 0x40, 1, 0, 0, 0, 0, 0, 1),
  ]],
  ["4.2", "a frame of 16,384 bytes is taken", ANSWERED, [
    open,
    dataFrame(1, encodeMessage(zeros(16_379))),
  ]],
  ["4.3", "a block that can't be decoded ends the connection", COMPRESSION, [
    block(0x80),
  ]],
  ["4.3", "so do trailers that can't be decoded", COMPRESSION, [
    open,
    frame({
      type: TYPE.HEADERS,
      flags: LAST,
      streamId: 1,
      payload: Uint8Array.of(0xff),
    }),
  ]],
  ["4.3", "PRIORITY among headers is refused", PROTOCOL, [
    headersFrame(1, requestFields(), 0),
    frame({ type: TYPE.PRIORITY, streamId: 1, payload: zeros(5) }),
  ]],
  ["4.3", "HEADERS of another stream among headers are refused", PROTOCOL, [
    headersFrame(1, requestFields(), 0),
    headersFrame(3),
  ]],
  ["5.1", "DATA on an idle stream is refused", PROTOCOL, [
    dataFrame(1, zeros(1)),
  ]],
  ["5.1", "RST_STREAM on an idle stream is refused", PROTOCOL, [
    resetFrame(1),
  ]],
  ["5.1", "WINDOW_UPDATE on an idle stream is refused", PROTOCOL, [
    windowUpdate(1, 1),
  ]],
  ["5.1", "CONTINUATION on an idle stream is refused", PROTOCOL, [
    frame({ type: TYPE.CONTINUATION, streamId: 1 }),
  ]],
  ["5.1.1", "a stream of an even number is refused", PROTOCOL, [
    headersFrame(2),
  ]],
  ["5.1.1", "a number below one that was used is refused", CLOSED, [
    buildRequest(3),
    headersFrame(1),
  ]],
  ["5.5", "an unknown frame among headers is refused", PROTOCOL, [
    headersFrame(1, requestFields(), 0),
    frame({ type: 99 }),
  ]],
  ["5.5", "an unknown setting is ignored", ANSWERED, [
    settingsFrame([[0x99, 1]]),
    buildRequest(1),
  ]],
  ["6.1", "DATA on stream 0 is refused", PROTOCOL, [dataFrame(0, zeros(1))]],
  ["6.1", "padding as long as the payload is refused", PROTOCOL, [
    open,
    dataFrame(1, Uint8Array.of(2, 0), PADDED),
  ]],
  ["6.1", "padded DATA without a length is refused", PROTOCOL, [
    open,
    dataFrame(1, zeros(0), PADDED),
  ]],
  ["6.1", "padding is taken off", ANSWERED, [
    open,
    dataFrame(1, concat(Uint8Array.of(3), CALL, zeros(3)), PADDED | END_STREAM),
  ]],
  ["6.2", "HEADERS on stream 0 are refused", PROTOCOL, [headersFrame(0)]],
  ["6.2", "padding of HEADERS that is too long is refused", PROTOCOL, [
    frame({
      type: TYPE.HEADERS,
      flags: END_HEADERS | PADDED,
      streamId: 1,
      payload: Uint8Array.of(9, 0x82),
    }),
  ]],
  ["6.2", "HEADERS without their priority are refused", SIZE, [
    frame({
      type: TYPE.HEADERS,
      flags: END_HEADERS | PRIORITY,
      streamId: 1,
      payload: zeros(4),
    }),
  ]],
  ["6.2", "padding and priority are taken off", ANSWERED, [
    frame({
      type: TYPE.HEADERS,
      flags: END_HEADERS | PADDED | PRIORITY,
      streamId: 1,
      payload: concat(Uint8Array.of(4), zeros(5), BLOCK, zeros(4)),
    }),
    dataFrame(1, CALL),
  ]],
  ["6.3", "PRIORITY on stream 0 is refused", PROTOCOL, [
    frame({ type: TYPE.PRIORITY, payload: zeros(5) }),
  ]],
  ["6.3", "PRIORITY of 4 bytes is refused", SIZE, [
    frame({ type: TYPE.PRIORITY, streamId: 1, payload: zeros(4) }),
  ]],
  ["6.3", "PRIORITY on an idle stream is ignored", ANSWERED, [
    frame({ type: TYPE.PRIORITY, streamId: 9, payload: zeros(5) }),
    buildRequest(1),
  ]],
  ["6.4", "RST_STREAM on stream 0 is refused", PROTOCOL, [resetFrame(0)]],
  ["6.4", "RST_STREAM of 3 bytes is refused", SIZE, [
    frame({ type: TYPE.RST_STREAM, streamId: 1, payload: zeros(3) }),
  ]],
  ["6.5", "SETTINGS on a stream are refused", PROTOCOL, [
    frame({ type: TYPE.SETTINGS, streamId: 1 }),
  ]],
  ["6.5", "SETTINGS of 5 bytes are refused", SIZE, [
    frame({ type: TYPE.SETTINGS, payload: zeros(5) }),
  ]],
  ["6.5", "an acknowledgement with a payload is refused", SIZE, [
    frame({ type: TYPE.SETTINGS, flags: ACK, payload: zeros(6) }),
  ]],
  ["6.5.2", "SETTINGS_ENABLE_PUSH of 2 is refused", PROTOCOL, [
    settingsFrame([[2, 2]]),
  ]],
  ["6.5.2", "a window of 2^31 bytes is refused", FLOW, [
    settingsFrame([[4, 0x8000_0000]]),
  ]],
  ["6.5.2", "frames of less than 16,384 bytes are refused", PROTOCOL, [
    settingsFrame([[5, 16_383]]),
  ]],
  ["6.5.2", "frames of 2^24 bytes are refused", PROTOCOL, [
    settingsFrame([[5, 0x100_0000]]),
  ]],
  ["6.5.3", "of a setting that comes twice the last counts", ANSWERED, [
    settingsFrame([[4, 1], [4, 65_535]]),
    buildRequest(1),
  ]],
  ["6.6", "PUSH_PROMISE is refused", PROTOCOL, [
    frame({ type: TYPE.PUSH_PROMISE, streamId: 1, payload: zeros(4) }),
  ]],
  ["6.7", "PING of 7 bytes is refused", SIZE, [pingFrame(zeros(7))]],
  ["6.7", "PING on a stream is refused", PROTOCOL, [
    frame({ type: TYPE.PING, streamId: 1, payload: zeros(8) }),
  ]],
  ["6.7", "an answer to no PING is ignored", ANSWERED, [
    pingFrame(zeros(8), ACK),
    buildRequest(1),
  ]],
  ["6.8", "GOAWAY on a stream is refused", PROTOCOL, [
    frame({ type: TYPE.GOAWAY, streamId: 1, payload: zeros(8) }),
  ]],
  ["6.8", "GOAWAY of 7 bytes is refused", SIZE, [
    frame({ type: TYPE.GOAWAY, payload: zeros(7) }),
  ]],
  ["6.8", "GOAWAY with words is taken, and a call after it", ANSWERED, [
    frame({ type: TYPE.GOAWAY, payload: zeros(11) }),
    buildRequest(1),
  ]],
  ["6.9", "WINDOW_UPDATE of 3 bytes is refused", SIZE, [
    frame({ type: TYPE.WINDOW_UPDATE, payload: zeros(3) }),
  ]],
  ["6.9", "WINDOW_UPDATE by 0 is refused", PROTOCOL, [windowUpdate(0, 0)]],
  ["6.9", "WINDOW_UPDATE by 0 ends its stream", MALFORMED, [
    open,
    windowUpdate(1, 0),
  ]],
  ["6.9.1", "a window beyond 2^31 - 1 is refused", FLOW, [
    windowUpdate(0, 0x7fff_ffff),
  ]],
  ["6.9.1", "a stream's window beyond that ends it", [
    "reset",
    "FLOW_CONTROL_ERROR",
  ], [open, windowUpdate(1, 0x7fff_ffff)]],
  ["6.9.2", "a setting that takes a window beyond is refused", FLOW, [
    open,
    windowUpdate(1, 0x7fff_0000),
    settingsFrame([[4, 0x7fff_0000]]),
  ]],
  ["6.10", "headers in several frames are taken", ANSWERED, [
    ...parts(5, 0, 20),
    dataFrame(1, CALL),
  ]],
  ["6.10", "CONTINUATION after the end is refused", PROTOCOL, [
    open,
    frame({ type: TYPE.CONTINUATION, streamId: 1 }),
  ]],
  ["6.10", "CONTINUATION of another stream is refused", PROTOCOL, [
    headersFrame(1, requestFields(), 0),
    frame({ type: TYPE.CONTINUATION, streamId: 3 }),
  ]],
  ["6.10", "CONTINUATION on stream 0 is refused", PROTOCOL, [
    headersFrame(1, requestFields(), 0),
    frame({ type: TYPE.CONTINUATION, streamId: 0 }),
  ]],
  ["6.10", "DATA among headers is refused", PROTOCOL, [
    headersFrame(1, requestFields(), 0),
    dataFrame(1, zeros(1)),
  ]],
  ["6.10", "PING among headers is refused", PROTOCOL, [
    headersFrame(1, requestFields(), 0),
    pingFrame(),
  ]],
  ["7", "an unknown error code is as good as any", ANSWERED, [
    headersFrame(3),
    resetFrame(3, 0xff),
    buildRequest(5),
  ]],
  ["8.1", "headers in the middle are malformed", MALFORMED, [
    open,
    headersFrame(1, [["x", "y"]]),
  ]],
  ["8.1", "trailers are taken", ANSWERED, [
    open,
    dataFrame(1, CALL, 0),
    headersFrame(1, [["x", "y"]], LAST),
  ]],
  ["8.1", "pseudo headers in trailers are malformed", MALFORMED, [
    open,
    headersFrame(1, [[":path", "/"]], LAST),
  ]],
  ["8.1.1", "more than the content length is malformed", MALFORMED, [
    fields({ "content-length": "7" }),
    dataFrame(1, CALL),
  ]],
  ["8.1.1", "less than the content length is malformed", MALFORMED, [
    fields({ "content-length": "9" }),
    dataFrame(1, CALL),
  ]],
  ["8.1.1", "so is less in several frames", MALFORMED, [
    fields({ "content-length": "9" }),
    dataFrame(1, CALL.slice(0, 4), 0),
    dataFrame(1, CALL.slice(4)),
  ]],
  ["8.2", "an upper case name is malformed", MALFORMED, [
    fields({ "X-A": "b" }),
  ]],
  ["8.2.2", "a field of connections is malformed", MALFORMED, [
    fields({ connection: "x" }),
  ]],
  ["8.2.2", "te other than trailers is malformed", MALFORMED, [
    fields({ te: "gzip" }),
  ]],
  ["8.3", "an unknown pseudo header is malformed", MALFORMED, [
    fields({ ":own": "x" }),
  ]],
  ["8.3", "a pseudo header of answers is malformed", MALFORMED, [
    fields({ ":status": "200" }),
  ]],
  ["8.3", "a pseudo header behind others is malformed", MALFORMED, [
    headersFrame(1, [["x", "y"], ...requestFields()]),
  ]],
  ["8.3.1", "no method is malformed", MALFORMED, [
    fields({ ":method": undefined }),
  ]],
  ["8.3.1", "no scheme is malformed", MALFORMED, [
    fields({ ":scheme": undefined }),
  ]],
  ["8.3.1", "no path is malformed", MALFORMED, [
    fields({ ":path": undefined }),
  ]],
  ["8.3.1", "two methods are malformed", MALFORMED, [
    headersFrame(1, [[":method", "POST"], ...requestFields()]),
  ]],
  ["8.3.1", "two paths are malformed", MALFORMED, [
    headersFrame(1, [[":path", "/"], ...requestFields()]),
  ]],
];

const RFC_7541: readonly Case[] = [
  ["2.3.3", "an index beyond both tables is refused", COMPRESSION, [
    block(0xc6),
  ]],
  ["2.3.3", "so is the name of one", COMPRESSION, [block(0x7f, 0x20, 1, 0x61)]],
  ["4.2", "a size behind a field is refused", COMPRESSION, [
    block(BLOCK, 0x20),
  ]],
  ["5.1", "an integer without end is refused", COMPRESSION, [
    block(new Uint8Array(20).fill(0xff)),
  ]],
  [
    "5.2",
    "padding of a Huffman code by more than 7 bits is refused",
    COMPRESSION,
    [
      block(
        0x00,
        0x85,
        0xf2,
        0xb2,
        0x4a,
        0x84,
        0xff,
        0x84,
        0x49,
        0x50,
        0x9f,
        0xff,
      ),
    ],
  ],
  ["5.2", "padding by zeros is refused", COMPRESSION, [
    block(0x00, 0x85, 0xf2, 0xb2, 0x4a, 0x84, 0xff, 0x83, 0x49, 0x50, 0x90),
  ]],
  ["5.2", "the end of string within a string is refused", COMPRESSION, [
    block(
      0x00,
      0x85,
      0xf2,
      0xb2,
      0x4a,
      0x84,
      0xff,
      0x87,
      0x49,
      0x51,
      0xff,
      0xff,
      0xff,
      0xfa,
      0x7f,
    ),
  ]],
  ["5.2", "a string longer than the block is refused", COMPRESSION, [
    block(0x00, 0x7f, 0x20, 0x61),
  ]],
  ["6.1", "index 0 is refused", COMPRESSION, [block(0x80)]],
  ["6.3", "a size above the announced one is refused", COMPRESSION, [
    block(0x3f, 0xe2, 0x1f, BLOCK),
  ]],
  ["6.3", "two sizes at the beginning are taken", ANSWERED, [
    block(0x20, 0x3f, 0xe1, 0x1f, BLOCK),
    dataFrame(1, CALL),
  ]],
];

for (
  const [rfc, cases] of [["RFC 9113", RFC_9113], [
    "RFC 7541",
    RFC_7541,
  ]] as const
) {
  for (const [section, what, outcome, sent] of cases) {
    Deno.test(`H2Connection keeps ${rfc}, ${section}: ${what}`, () => {
      const peer = new FakePeer();
      peer.send(hello(), ...sent);
      switch (outcome[0]) {
        case "goaway":
          return assertEnded(peer, H2_ERROR[outcome[1]]);
        case "reset":
          assertEquals(peer.takeResets(), [[1, H2_ERROR[outcome[1]]]]);
          assertEquals(peer.requests, []);
          // Only the stream is over, and its late frames do no harm.
          peer.send(dataFrame(1, zeros(3)));
          return assertGoesOn(peer);
        case "answered":
          assertEquals(peer.requests.length, 1);
          return assertGoesOn(peer);
      }
    });
  }
}

Deno.test("H2Connection keeps RFC 9113, 3.4: what is no preface is refused", () => {
  for (
    const preface of [
      "GET / HTTP/1.1\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n",
    ]
  ) {
    const peer = new FakePeer();
    peer.send(new TextEncoder().encode(preface));
    assertEnded(peer, H2_ERROR.PROTOCOL_ERROR);
  }
});

Deno.test("H2Connection keeps RFC 9113, 3.4: SETTINGS come first", () => {
  const preface = hello().subarray(0, 24);
  for (
    const first of [
      pingFrame(),
      buildRequest(1),
      buildFrame({ type: FRAME_TYPE.SETTINGS, flags: ACK }),
      buildFrame({ type: 77 }),
    ]
  ) {
    const peer = new FakePeer();
    peer.send(preface, first);
    assertEnded(peer, H2_ERROR.PROTOCOL_ERROR);
  }
});

Deno.test("H2Connection keeps RFC 9113, 6.5 and 6.7: SETTINGS and PING are acknowledged", () => {
  const peer = new FakePeer();
  const payload = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  peer.send(hello(), pingFrame(payload));
  const acks = peer.take().filter(({ flags }) => flags === ACK);
  assertEquals(acks.map(({ type }) => type), [TYPE.SETTINGS, TYPE.PING]);
  assertEquals(acks[1]?.payload, payload);
  peer.connection.closed();
});

/** Asserts a GOAWAY with this code, and no answer to later frames. */
function assertEnded(peer: FakePeer, code: number): void {
  assertEquals(peer.takeGoaway(), code);
  assert(peer.isEnded);
  const before = peer.writes.length;
  peer.send(buildRequest(103));
  assertEquals(peer.writes.length, before);
  assertEquals(peer.requests.some(({ stream }) => stream.id > 100), false);
  peer.connection.closed();
  assertEquals(peer.clock.pendingTimers, 0);
}

function assertGoesOn(peer: FakePeer): void {
  const before = peer.requests.length;
  peer.send(buildRequest(101));
  assertEquals(peer.requests.length, before + 1);
  assert(!peer.isEnded);
  peer.connection.closed();
  assertEquals(peer.clock.pendingTimers, 0);
}

/** The same frames, each with the reserved bit of its stream id set. */
function withReservedBit(bytes: Uint8Array): Uint8Array {
  const changed = bytes.slice();
  const view = new DataView(changed.buffer);
  for (let at = 0; at < changed.length;) {
    changed[at + 5]! |= 0x80;
    at += 9 + (view.getUint32(at) >>> 8);
  }
  return changed;
}
