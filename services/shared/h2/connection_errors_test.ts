import { assert, assertEquals } from "@std/assert";
import {
  blockOf,
  concat,
  dataFrame,
  frameOf,
  headersFrame,
  hello,
  messageOf,
  pingFrame,
  requestFields,
  requestOf,
  resetFrame,
  settingsFrame,
  windowUpdate,
} from "../../../tests/support/h2_frames.ts";
import { FakePeer } from "../../../tests/support/h2_peer.ts";
import { FLAG, FRAME_TYPE, H2_ERROR } from "./frame.ts";

const { END_HEADERS, END_STREAM, PADDED, PRIORITY, ACK } = FLAG;
const {
  PROTOCOL_ERROR,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  STREAM_CLOSED,
  COMPRESSION_ERROR,
  REFUSED_STREAM,
} = H2_ERROR;
const BLOCK = blockOf(requestFields());
const bytes = (length: number): Uint8Array => new Uint8Array(length);

Deno.test("H2Connection ends with GOAWAY what breaks the rules of a connection", () => {
  const frame = frameOf;
  const { HEADERS, SETTINGS, CONTINUATION, PUSH_PROMISE } = FRAME_TYPE;
  const { RST_STREAM, GOAWAY, PING, WINDOW_UPDATE } = FRAME_TYPE;
  const open = headersFrame(1);
  for (
    const [what, code, sent] of [
      ["DATA on 0", PROTOCOL_ERROR, [dataFrame(0, bytes(1))]],
      ["DATA on idle", PROTOCOL_ERROR, [dataFrame(1, bytes(1))]],
      ["padding of DATA", PROTOCOL_ERROR, [
        open,
        dataFrame(1, Uint8Array.of(2, 0), PADDED),
      ]],
      ["no padding of DATA", PROTOCOL_ERROR, [
        open,
        dataFrame(1, bytes(0), PADDED),
      ]],
      ["HEADERS on 0", PROTOCOL_ERROR, [headersFrame(0)]],
      ["HEADERS on even", PROTOCOL_ERROR, [headersFrame(2)]],
      ["HEADERS on closed", STREAM_CLOSED, [requestOf(3), headersFrame(1)]],
      ["padding of HEADERS", PROTOCOL_ERROR, [
        frame({
          type: HEADERS,
          flags: END_HEADERS | PADDED,
          streamId: 1,
          payload: Uint8Array.of(9, 0x82),
        }),
      ]],
      ["HEADERS without their priority", FRAME_SIZE_ERROR, [
        frame({
          type: HEADERS,
          flags: END_HEADERS | PRIORITY,
          streamId: 1,
          payload: bytes(4),
        }),
      ]],
      ["a block that cannot be decoded", COMPRESSION_ERROR, [
        frame({
          type: HEADERS,
          flags: END_HEADERS,
          streamId: 1,
          payload: Uint8Array.of(0x80),
        }),
      ]],
      ["trailers that cannot be decoded", COMPRESSION_ERROR, [
        open,
        frame({
          type: HEADERS,
          flags: END_HEADERS | END_STREAM,
          streamId: 1,
          payload: Uint8Array.of(0xff),
        }),
      ]],
      ["CONTINUATION alone", PROTOCOL_ERROR, [
        frame({ type: CONTINUATION, streamId: 1 }),
      ]],
      ["CONTINUATION after the end", PROTOCOL_ERROR, [
        open,
        frame({ type: CONTINUATION, streamId: 1 }),
      ]],
      ["CONTINUATION of another", PROTOCOL_ERROR, [
        headersFrame(1, requestFields(), 0),
        frame({ type: CONTINUATION, streamId: 3 }),
      ]],
      ["DATA among headers", PROTOCOL_ERROR, [
        headersFrame(1, requestFields(), 0),
        dataFrame(1, bytes(1)),
      ]],
      ["PING among headers", PROTOCOL_ERROR, [
        headersFrame(1, requestFields(), 0),
        pingFrame(),
      ]],
      ["an unknown frame among headers", PROTOCOL_ERROR, [
        headersFrame(1, requestFields(), 0),
        frame({ type: 99 }),
      ]],
      ["RST_STREAM on 0", PROTOCOL_ERROR, [resetFrame(0)]],
      ["RST_STREAM on idle", PROTOCOL_ERROR, [resetFrame(1)]],
      ["RST_STREAM too short", FRAME_SIZE_ERROR, [
        frame({ type: RST_STREAM, streamId: 1, payload: bytes(3) }),
      ]],
      ["SETTINGS on a stream", PROTOCOL_ERROR, [
        frame({ type: SETTINGS, streamId: 1 }),
      ]],
      ["SETTINGS of 5 bytes", FRAME_SIZE_ERROR, [
        frame({ type: SETTINGS, payload: bytes(5) }),
      ]],
      ["an ACK with a payload", FRAME_SIZE_ERROR, [
        frame({ type: SETTINGS, flags: ACK, payload: bytes(6) }),
      ]],
      ["a push setting of 2", PROTOCOL_ERROR, [settingsFrame([[2, 2]])]],
      ["a window setting too large", FLOW_CONTROL_ERROR, [
        settingsFrame([[4, 0x8000_0000]]),
      ]],
      ["a window made too large by a setting", FLOW_CONTROL_ERROR, [
        open,
        windowUpdate(1, 0x7fff_0000),
        settingsFrame([[4, 0x7fff_0000]]),
      ]],
      ["PUSH_PROMISE", PROTOCOL_ERROR, [
        frame({ type: PUSH_PROMISE, streamId: 1, payload: bytes(4) }),
      ]],
      ["PING of 7 bytes", FRAME_SIZE_ERROR, [pingFrame(bytes(7))]],
      ["PING on a stream", PROTOCOL_ERROR, [
        frame({ type: PING, streamId: 1, payload: bytes(8) }),
      ]],
      ["GOAWAY on a stream", PROTOCOL_ERROR, [
        frame({ type: GOAWAY, streamId: 1, payload: bytes(8) }),
      ]],
      ["GOAWAY of 7 bytes", FRAME_SIZE_ERROR, [
        frame({ type: GOAWAY, payload: bytes(7) }),
      ]],
      ["WINDOW_UPDATE of 3 bytes", FRAME_SIZE_ERROR, [
        frame({ type: WINDOW_UPDATE, payload: bytes(3) }),
      ]],
      ["WINDOW_UPDATE by 0", PROTOCOL_ERROR, [windowUpdate(0, 0)]],
      ["WINDOW_UPDATE on idle", PROTOCOL_ERROR, [windowUpdate(1, 1)]],
      ["a window too large", FLOW_CONTROL_ERROR, [
        windowUpdate(0, 0x7fff_ffff),
      ]],
      ["PRIORITY on 0", PROTOCOL_ERROR, [
        frame({ type: FRAME_TYPE.PRIORITY, payload: bytes(5) }),
      ]],
      ["PRIORITY of 4 bytes", FRAME_SIZE_ERROR, [
        frame({ type: FRAME_TYPE.PRIORITY, streamId: 1, payload: bytes(4) }),
      ]],
      ["a frame too large", FRAME_SIZE_ERROR, [
        Uint8Array.of(0, 0x40, 1, 0, 0, 0, 0, 0, 1),
      ]],
    ] as const
  ) {
    const peer = new FakePeer();
    peer.send(hello(), ...sent, requestOf(101));
    assertEquals(peer.takeGoaway(), code, what);
    assert(peer.isEnded, what);
    // Nothing that comes after it is answered.
    const before = peer.writes.length;
    peer.send(requestOf(103));
    assertEquals(peer.writes.length, before, what);
    assertEquals(peer.requests.some(({ stream }) => stream.id > 100), false);
    assertEquals(peer.clock.pendingTimers, 1, what);
    peer.connection.closed();
    assertEquals(peer.clock.pendingTimers, 0, what);
  }
});

Deno.test("H2Connection ends with RST_STREAM what breaks the rules of a stream", () => {
  const fields = (changes: Record<string, string | undefined>): Uint8Array =>
    headersFrame(1, requestFields(changes));
  for (
    const [what, code, sent] of [
      ["no path", PROTOCOL_ERROR, [fields({ ":path": undefined })]],
      ["an upper case name", PROTOCOL_ERROR, [fields({ "X-A": "b" })]],
      ["a header of HTTP/1.1", PROTOCOL_ERROR, [fields({ connection: "x" })]],
      ["te other than trailers", PROTOCOL_ERROR, [fields({ te: "gzip" })]],
      ["more than the content length", PROTOCOL_ERROR, [
        fields({ "content-length": "7" }),
        dataFrame(1, messageOf(bytes(3))),
      ]],
      ["less than the content length", PROTOCOL_ERROR, [
        fields({ "content-length": "9" }),
        dataFrame(1, messageOf(bytes(3))),
      ]],
      ["headers that do not end the stream", PROTOCOL_ERROR, [
        headersFrame(1),
        headersFrame(1, [["x", "y"]]),
      ]],
      ["pseudo headers in trailers", PROTOCOL_ERROR, [
        headersFrame(1),
        headersFrame(1, [[":path", "/"]], END_HEADERS | END_STREAM),
      ]],
      ["a stream's WINDOW_UPDATE by 0", PROTOCOL_ERROR, [
        headersFrame(1),
        windowUpdate(1, 0),
      ]],
      ["a stream's window too large", FLOW_CONTROL_ERROR, [
        headersFrame(1),
        windowUpdate(1, 0x7fff_ffff),
      ]],
    ] as const
  ) {
    const peer = new FakePeer();
    peer.send(hello(), ...sent);
    assertEquals(peer.takeResets(), [[1, code]], what);
    assertEquals(peer.requests, []);
    // Only the stream is over, and its late frames do no harm.
    peer.send(dataFrame(1, bytes(3)), requestOf(3));
    assertEquals(peer.requests.length, 1, what);
    assert(!peer.isEnded);
    peer.connection.closed();
  }
});

Deno.test("H2Connection ends a stream on which more comes than its end", () => {
  for (const late of [dataFrame(1, bytes(3)), headersFrame(1)]) {
    // Not answered yet, so it is half closed.
    const peer = new FakePeer({ answer: undefined });
    peer.send(hello(), requestOf(1), late);
    assertEquals(peer.takeResets(), [[1, STREAM_CLOSED]]);
    peer.connection.closed();
  }
  const answered = new FakePeer();
  answered.send(hello(), requestOf(1), dataFrame(1, bytes(3)));
  assertEquals(answered.takeResets(), [[1, STREAM_CLOSED]]);
  answered.connection.closed();
});

Deno.test("H2Connection refuses streams beyond the limit and keeps the tables right", () => {
  const peer = new FakePeer({
    answer: undefined,
    limits: { maxConcurrentStreams: 2 },
  });
  // The block that is refused adds to the table what the next one uses.
  const block = concat(
    Uint8Array.of(0x44, KNOWN.length),
    KNOWN,
    blockOf(requestFields({ ":path": undefined })),
  );
  const headers = (streamId: number, payload: Uint8Array): Uint8Array =>
    frameOf({
      type: FRAME_TYPE.HEADERS,
      flags: END_HEADERS,
      streamId,
      payload,
    });
  peer.send(hello(), requestOf(1), requestOf(3), headers(5, block));
  assertEquals(peer.takeResets(), [[5, REFUSED_STREAM]]);
  // DATA of it may be on its way.
  peer.send(dataFrame(5, messageOf(bytes(1))));
  assertEquals(peer.takeResets(), []);
  peer.send(resetFrame(1));
  // A reset does not make room while somebody works on the request.
  const indexed = concat(
    Uint8Array.of(0xbe),
    blockOf(requestFields({ ":path": undefined })),
  );
  peer.send(headers(7, indexed), dataFrame(7, messageOf(bytes(1))));
  assertEquals(peer.takeResets(), [[7, REFUSED_STREAM]]);
  peer.requests[0]?.stream.release();
  peer.send(headers(9, indexed), dataFrame(9, messageOf(bytes(1))));
  assertEquals(peer.requests.length, 3);
  assert(!peer.isEnded);
  peer.connection.closed();
});

Deno.test("H2Connection wants SETTINGS first", () => {
  const preface = hello().subarray(0, 24);
  for (
    const first of [
      pingFrame(),
      requestOf(1),
      frameOf({ type: FRAME_TYPE.SETTINGS, flags: ACK }),
      frameOf({ type: 77 }),
    ]
  ) {
    const peer = new FakePeer();
    peer.send(preface, first);
    assertEquals(peer.takeGoaway(), PROTOCOL_ERROR);
    peer.connection.closed();
  }
});

Deno.test("H2Connection tells a peer that does not speak HTTP/2", () => {
  const peer = new FakePeer();
  peer.send(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
  assertEquals(peer.takeGoaway(), PROTOCOL_ERROR);
  assert(peer.isEnded);
  peer.connection.closed();
});

Deno.test("H2Connection takes what means nothing to it", () => {
  const peer = new FakePeer();
  const goaway = frameOf({ type: FRAME_TYPE.GOAWAY, payload: bytes(11) });
  peer.send(
    hello([[0x99, 1]]),
    goaway,
    goaway,
    frameOf({ type: 0x42, flags: 0xff, streamId: 9, payload: bytes(30) }),
    frameOf({ type: FRAME_TYPE.PRIORITY, streamId: 9, payload: bytes(5) }),
    pingFrame(bytes(8), ACK),
    requestOf(1),
    windowUpdate(1, 5),
    windowUpdate(1, 0),
    resetFrame(1),
    frameOf({
      type: FRAME_TYPE.HEADERS,
      flags: END_HEADERS | PADDED | PRIORITY,
      streamId: 3,
      payload: concat(Uint8Array.of(4), bytes(5), BLOCK, bytes(4)),
    }),
    dataFrame(
      3,
      concat(Uint8Array.of(3), messageOf(bytes(2)), bytes(3)),
      PADDED,
    ),
    dataFrame(3, bytes(0)),
  );
  assertEquals(peer.requests.map(({ message }) => message.length), [3, 2]);
  assert(!peer.isEnded);
  peer.connection.closed();
});

const KNOWN = new TextEncoder().encode("/test.Test/Known");
