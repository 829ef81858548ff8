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
  windowUpdate,
} from "../../../tests/support/h2_frames.ts";
import { FakePeer } from "../../../tests/support/h2_peer.ts";
import { FLAG, FRAME_TYPE, H2_ERROR } from "./frame.ts";

const { END_HEADERS, PADDED, PRIORITY, ACK } = FLAG;
const { STREAM_CLOSED, REFUSED_STREAM } = H2_ERROR;
const BLOCK = encodeHeaderBlock(requestFields());
const bytes = (length: number): Uint8Array => new Uint8Array(length);

Deno.test("H2Connection ends a stream on which more comes than its end", () => {
  for (const late of [dataFrame(1, bytes(3)), headersFrame(1)]) {
    // Not answered yet, so it is half closed.
    const peer = new FakePeer({ answer: undefined });
    peer.send(hello(), buildRequest(1), late);
    assertEquals(peer.takeResets(), [[1, STREAM_CLOSED]]);
    peer.connection.closed();
  }
  const answered = new FakePeer();
  answered.send(hello(), buildRequest(1), dataFrame(1, bytes(3)));
  assertEquals(answered.takeResets(), [[1, STREAM_CLOSED]]);
  answered.connection.closed();
});

Deno.test("H2Connection refuses streams beyond the limit and keeps the tables right", () => {
  const peer = new FakePeer({
    answer: undefined,
    limits: { maxConcurrentStreams: 2 },
  });
  // The refused header block adds the table entry that the next one uses.
  const block = concat(
    Uint8Array.of(0x44, KNOWN.length),
    KNOWN,
    encodeHeaderBlock(requestFields({ ":path": undefined })),
  );
  const headers = (streamId: number, payload: Uint8Array): Uint8Array =>
    buildFrame({
      type: FRAME_TYPE.HEADERS,
      flags: END_HEADERS,
      streamId,
      payload,
    });
  peer.send(hello(), buildRequest(1), buildRequest(3), headers(5, block));
  assertEquals(peer.takeResets(), [[5, REFUSED_STREAM]]);
  // The peer may have sent DATA before it read the reset.
  peer.send(dataFrame(5, encodeMessage(bytes(1))));
  assertEquals(peer.takeResets(), []);
  peer.send(resetFrame(1));
  // A reset does not make room while somebody works on the request.
  const indexed = concat(
    Uint8Array.of(0xbe),
    encodeHeaderBlock(requestFields({ ":path": undefined })),
  );
  peer.send(headers(7, indexed), dataFrame(7, encodeMessage(bytes(1))));
  assertEquals(peer.takeResets(), [[7, REFUSED_STREAM]]);
  peer.requests[0]?.stream.release();
  peer.send(headers(9, indexed), dataFrame(9, encodeMessage(bytes(1))));
  assertEquals(peer.requests.length, 3);
  assert(!peer.isEnded);
  peer.connection.closed();
});

Deno.test("H2Connection takes what means nothing to it", () => {
  const peer = new FakePeer();
  const goaway = buildFrame({ type: FRAME_TYPE.GOAWAY, payload: bytes(11) });
  peer.send(
    hello([[0x99, 1]]),
    goaway,
    goaway,
    buildFrame({ type: 0x42, flags: 0xff, streamId: 9, payload: bytes(30) }),
    buildFrame({ type: FRAME_TYPE.PRIORITY, streamId: 9, payload: bytes(5) }),
    pingFrame(bytes(8), ACK),
    buildRequest(1),
    windowUpdate(1, 5),
    windowUpdate(1, 0),
    resetFrame(1),
    buildFrame({
      type: FRAME_TYPE.HEADERS,
      flags: END_HEADERS | PADDED | PRIORITY,
      streamId: 3,
      payload: concat(Uint8Array.of(4), bytes(5), BLOCK, bytes(4)),
    }),
    dataFrame(
      3,
      concat(Uint8Array.of(3), encodeMessage(bytes(2)), bytes(3)),
      PADDED,
    ),
    dataFrame(3, bytes(0)),
  );
  assertEquals(peer.requests.map(({ message }) => message.length), [3, 2]);
  assert(!peer.isEnded);
  peer.connection.closed();
});

const KNOWN = new TextEncoder().encode("/test.Test/Known");
