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
  requestFields,
  resetFrame,
  settingsFrame,
  windowUpdate,
} from "../../../tests/support/h2_frames.ts";
import { FakePeer } from "../../../tests/support/h2_peer.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { FLAG, FRAME_TYPE, H2_ERROR } from "./frame.ts";
import type { H2Limits } from "./limits.ts";

const CALM = H2_ERROR.ENHANCE_YOUR_CALM;
const SMALL: Partial<H2Limits> = {
  controlBurst: 100,
  controlPerSecond: 10,
  resetBurst: 20,
  resetPerSecond: 2,
};

Deno.test("H2Connection ends floods of frames that carry no request", () => {
  for (
    const [what, frame] of [
      ["SETTINGS", () => settingsFrame([])],
      ["PING", () => pingFrame()],
      ["answers to PING", () => pingFrame(new Uint8Array(8), FLAG.ACK)],
      ["WINDOW_UPDATE", () => windowUpdate(0, 1)],
      ["empty DATA", () => dataFrame(1, new Uint8Array(0), 0)],
      ["padding alone", () => dataFrame(1, new Uint8Array(1), FLAG.PADDED)],
      ["PRIORITY", () =>
        buildFrame({
          type: FRAME_TYPE.PRIORITY,
          streamId: 1,
          payload: new Uint8Array(5),
        })],
      [
        "GOAWAY",
        () =>
          buildFrame({ type: FRAME_TYPE.GOAWAY, payload: new Uint8Array(8) }),
      ],
      ["unknown frames", () => buildFrame({ type: 99 })],
      ["resets of what is over", () => resetFrame(1)],
    ] as const
  ) {
    const peer = new FakePeer({ limits: SMALL });
    peer.send(hello(), headersFrame(1));
    let count = 0;
    while (!peer.isEnded && count < 1_000) {
      peer.send(frame());
      count++;
    }
    assert(count > 90 && count < 130, `${what}: ${count}`);
    assertEquals(peer.takeGoaway(), CALM, what);
    peer.connection.closed();
  }
});

Deno.test("H2Connection lets the same frames pass when they go with requests", () => {
  const peer = new FakePeer({ limits: SMALL });
  peer.send(hello());
  for (let id = 1; id < 4_000; id += 2) {
    peer.send(buildRequest(id), pingFrame(), windowUpdate(0, 100));
  }
  assert(!peer.isEnded);
  // Or when they come slowly.
  for (let count = 0; count < 500; count++) {
    peer.clock.advance(101);
    peer.send(pingFrame());
  }
  assert(!peer.isEnded);
  peer.connection.closed();
});

Deno.test("H2Connection ends rapid resets (CVE-2023-44487)", () => {
  for (const answers of [true, false]) {
    const peer = new FakePeer({
      limits: { ...SMALL, controlBurst: 10_000 },
      ...(answers ? {} : { answer: undefined }),
    });
    peer.send(hello());
    let id = 1;
    for (; !peer.isEnded && id < 5_000; id += 2) {
      // The body never ends, so there is nothing to answer at once.
      peer.send(headersFrame(id), resetFrame(id));
    }
    assertEquals(id, 43);
    assertEquals(peer.takeGoaway(), CALM);
    assertEquals(peer.requests, []);
    peer.connection.closed();
  }
});

Deno.test("H2Connection ends rapid faults, which we reset ourselves", () => {
  const peer = new FakePeer({ limits: SMALL });
  peer.send(hello());
  let id = 1;
  for (; !peer.isEnded && id < 5_000; id += 2) {
    peer.send(headersFrame(id, requestFields({ te: "no" })));
  }
  assertEquals(id, 43);
  assertEquals(peer.takeGoaway(), CALM);
  peer.connection.closed();
});

Deno.test("H2Connection ends floods of CONTINUATION, empty or not", () => {
  for (const size of [0, 1, 5_000]) {
    const peer = new FakePeer();
    peer.send(hello(), headersFrame(1, requestFields(), 0));
    const payload = new Uint8Array(size).fill(0x82);
    const type = FRAME_TYPE.CONTINUATION;
    let count = 0;
    while (!peer.isEnded && count < 1_000) {
      peer.send(buildFrame({ type, streamId: 1, payload }));
      count++;
    }
    assert(count < 20, `${count} were taken`);
    assertEquals(peer.takeGoaway(), CALM);
    peer.connection.closed();
  }
});

Deno.test("H2Connection answers a bomb of headers with 431 and goes on", () => {
  const peer = new FakePeer();
  const value = "v".repeat(4_000);
  // An entry of the table, named again and again at a byte each.
  const block = concat(
    Uint8Array.of(0x40, 1, 0x78, 0x7f, 0xa1, 0x1e),
    new TextEncoder().encode(value),
    new Uint8Array(10_000).fill(0xbe),
  );
  peer.send(
    hello(),
    buildFrame({
      type: FRAME_TYPE.HEADERS,
      flags: FLAG.END_HEADERS | FLAG.END_STREAM,
      streamId: 1,
      payload: block,
    }),
  );
  const answer = peer.take().find(({ type }) => type === FRAME_TYPE.HEADERS);
  assertEquals(answer?.payload, Uint8Array.of(8, 3, 0x34, 0x33, 0x31));
  peer.send(buildRequest(3));
  assertEquals(peer.requests.length, 1);
  peer.connection.closed();
});

Deno.test("H2Connection waits for nothing for ever", () => {
  const cases: readonly (readonly [
    string,
    number,
    (peer: FakePeer) => void,
  ])[] = [
    ["a word", 10_000, () => {}],
    ["the preface", 10_000, (peer) => peer.send(hello().subarray(0, 20))],
    ["SETTINGS", 10_000, (peer) => peer.send(hello().subarray(0, 28))],
    ["a frame", 30_000, (peer) => peer.send(hello(), Uint8Array.of(0, 0))],
    ["headers", 30_000, (peer) => {
      peer.send(hello(), headersFrame(1, requestFields(), 0));
    }],
    ["a reader", 60_000, (peer) => {
      peer.unsentBytes = 50;
      peer.send(hello());
    }],
    ["the answer to a PING", 7_220_000, (peer) => {
      peer.send(hello());
      // The peer sent something in the first period, so a second one passes.
      peer.clock.advance(7_200_010);
    }],
  ];
  for (const [what, ms, prepare] of cases) {
    const peer = new FakePeer();
    prepare(peer);
    peer.clock.advance(ms - 100);
    assert(!peer.isDestroyed, what);
    peer.clock.advance(200);
    assert(peer.isDestroyed, what);
    peer.connection.closed();
    assertEquals(peer.clock.pendingTimers, 0, what);
  }
});

Deno.test("H2Connection keeps an idle peer that answers its PINGs", async () => {
  const peer = new FakePeer();
  peer.send(hello());
  let pings = 0;
  for (let seconds = 0; seconds < 30_000; seconds += 10) {
    peer.clock.advance(10_000);
    await Promise.resolve();
    const ping = peer.take().find(({ type }) => type === FRAME_TYPE.PING);
    if (ping === undefined) continue;
    pings++;
    peer.send(pingFrame(ping.payload, FLAG.ACK));
  }
  assert(pings >= 3, `${pings} pings`);
  assert(!peer.isDestroyed && !peer.isEnded);
  peer.connection.closed();
});

Deno.test("H2Connection lets a slow sender finish its frames", () => {
  const peer = new FakePeer();
  peer.send(hello());
  const bytes = concat(
    ...Array.from({ length: 5 }, (_, at) => buildRequest(1 + 2 * at)),
  );
  for (const byte of bytes) {
    peer.clock.advance(100);
    peer.send(Uint8Array.of(byte));
  }
  assertEquals(peer.requests.length, 5);
  assert(!peer.isDestroyed);
  peer.connection.closed();
});

Deno.test("H2Connection neither throws nor hangs, whatever it is sent", async () => {
  let [rounds, ended] = [0, 0];
  await eachRound({ rounds: 150, seed: 10 }, ({ random }) => {
    rounds++;
    const peer = new FakePeer({ limits: SMALL });
    peer.send(hello());
    for (let step = 0; step < 30 && !peer.isEnded; step++) {
      peer.send(noise(random));
    }
    assertEquals(peer.log.listMessages("error"), []);
    // All that was written is whole frames.
    peer.take();
    if (peer.isEnded) ended++;
    peer.connection.closed();
    assertEquals(peer.engine.budget.usedBytes, 0);
    assertEquals(peer.clock.pendingTimers, 0);
  });
  assert(ended > rounds / 3, `only ${ended} have ended`);
});

/** Frames that are nearly right, so that they get far. */
function noise(random: SeededRandom): Uint8Array {
  const id = random.below(12);
  const bytes = random.pick([
    () => buildRequest(id * 2 + 1),
    () => headersFrame(id * 2 + 1, requestFields(), random.below(64)),
    () => dataFrame(id, random.bytes(random.below(30)), random.below(16)),
    () => dataFrame(id, encodeMessage(random.bytes(3)), random.below(2)),
    () => windowUpdate(id, random.below(0x7fff_ffff)),
    () => resetFrame(id),
    () => settingsFrame([[random.below(7), random.below(100_000)]]),
    () =>
      buildFrame({
        type: random.below(11),
        flags: random.below(256),
        streamId: id,
        payload: random.bytes(random.below(20)),
      }),
  ])();
  if (random.chance(0.1)) bytes[random.below(bytes.length)] = random.below(256);
  return random.chance(0.05)
    ? bytes.subarray(0, random.below(bytes.length))
    : bytes;
}
