/**
 * Generates from a seed what a broken or hostile HTTP/2 client may send:
 * correct calls, incorrect frames, headers and messages with changed bytes, and
 * pauses at any point.
 *
 * @module
 */

import {
  encodeRateLimitRequest,
  type RateLimitRequest,
} from "../../../proto/rate_limit_request.ts";
import {
  buildFrame,
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
} from "../../support/h2_frames.ts";
import type { SeededRandom } from "../../support/seeded_random.ts";
import { DECIDE_PATH } from "../grpc_caller.ts";

/** One action of a client. */
export type Act =
  | { readonly kind: "send"; readonly bytes: Uint8Array }
  /** The client sends nothing for this long. */
  | { readonly kind: "stall"; readonly ms: number }
  /** The client closes its side of the connection. */
  | { readonly kind: "half_close" };

/** All actions of a client, which then closes the connection. */
export type Conversation = readonly Act[];

const MAX_PARTS = 12;
const MAX_STALL_MS = 30;
const FRAME_TYPES = 12;
const HEADERS = 1;
const PRIORITY = 2;
const CONTINUATION = 9;
const GOAWAY = 7;
const NAMES = [
  ":path",
  ":method",
  ":scheme",
  ":authority",
  ":status",
  "te",
  "content-type",
  "grpc-timeout",
  "grpc-encoding",
  "connection",
  "transfer-encoding",
  "Upper",
  "x-own",
  "x own",
  "",
];
const VALUES = [
  "",
  DECIDE_PATH,
  "POST",
  "trailers",
  "gzip",
  "application/grpc",
  "1S",
  "99999999H",
  "-1m",
  "a\0b",
  "a\r\nb",
  "x".repeat(300),
  "ü",
];

/** Generates a conversation, which may break any rule of the protocol. */
export function createConversation(random: SeededRandom): Conversation {
  const parts = [createHello(random)];
  let stream = 1;
  for (let count = 1 + random.below(MAX_PARTS); count > 0; count--) {
    parts.push(createPart(random, stream));
    if (random.chance(0.9)) stream += 2;
  }
  const bytes = mutated(random, concat(...parts));
  return acts(random, bytes);
}

function createHello(random: SeededRandom): Uint8Array {
  if (random.chance(0.8)) return hello();
  const settings = Array.from(
    { length: random.below(6) },
    () =>
      [
        random.below(8),
        random.pick([0, 1, 100, 16_384, 2 ** 24, 2 ** 31 - 1, 2 ** 31]),
      ] as const,
  );
  return hello(settings);
}

function createPart(random: SeededRandom, stream: number): Uint8Array {
  const id = random.chance(0.95) ? stream : random.below(2 ** 31);
  switch (random.below(12)) {
    case 0:
      return randomFrame(random, id);
    case 1:
      return windowUpdate(
        random.chance(0.5) ? 0 : id,
        random.pick([0, 1, 65_535, 2 ** 31 - 1]),
      );
    case 2:
      return concat(createCall(random, id), resetFrame(id, random.below(16)));
    case 3:
      return splitHeaders(random, id);
    case 4:
      return headersFrame(id, strangeFields(random));
    case 5:
      return randomBlock(random, id);
    case 6:
      return random.chance(0.5)
        ? pingFrame(createBytes(random, random.chance(0.8) ? 8 : 7))
        : settingsFrame([[random.below(8), random.below(2 ** 31)]]);
    case 7:
      return buildFrame({
        type: random.pick([PRIORITY, GOAWAY]),
        streamId: random.chance(0.5) ? 0 : id,
        payload: createBytes(random, random.pick([0, 4, 5, 8, 20])),
      });
    default:
      return createCall(random, id);
  }
}

/**
 * A call whose message may be cut, too long, split into several frames or
 * missing.
 */
function createCall(random: SeededRandom, id: number): Uint8Array {
  const message = encodeMessage(
    mutated(random, encodeRateLimitRequest(createRequest(random))),
    random.chance(0.97) ? 0 : random.below(256),
  );
  const fields = requestFields({ ":path": DECIDE_PATH });
  if (random.chance(0.7)) {
    return concat(headersFrame(id, fields), dataFrame(id, message));
  }
  const cut = random.below(message.length + 1);
  return concat(
    headersFrame(id, fields),
    dataFrame(id, message.slice(0, cut), 0),
    dataFrame(id, message.slice(cut), random.pick([0, 1, 8, 9])),
  );
}

function createRequest(random: SeededRandom): RateLimitRequest {
  const word = (): string =>
    random.pick(["", "user", "a_b", "ü€😀", "x".repeat(random.below(2_000))]);
  return {
    domain: random.pick(["fuzz", "", "none", word()]),
    descriptors: Array.from({ length: random.below(6) }, () => ({
      entries: Array.from(
        { length: random.below(4) },
        () => ({ key: word(), value: word() }),
      ),
      ...(random.chance(0.2) && {
        limit: {
          requestsPerUnit: random.below(2 ** 31),
          unit: random.below(9),
        },
      }),
      ...(random.chance(0.2) && { hitsAddend: random.below(2 ** 31) }),
      ...(random.chance(0.1) && { isNegativeHits: true }),
    })),
    hitsAddend: random.chance(0.5) ? 0 : random.below(2 ** 31),
  };
}

function splitHeaders(random: SeededRandom, id: number): Uint8Array {
  const block = encodeHeaderBlock(requestFields({ ":path": DECIDE_PATH }));
  const count = 1 + random.below(20);
  const step = Math.ceil(block.length / count);
  const frames = Array.from({ length: count }, (_, i) =>
    buildFrame({
      type: i === 0 ? HEADERS : CONTINUATION,
      flags: i === count - 1 ? 4 : random.chance(0.98) ? 0 : 4,
      streamId: random.chance(0.98) ? id : id + 2,
      payload: block.slice(i * step, (i + 1) * step),
    }));
  return concat(...frames);
}

function strangeFields(
  random: SeededRandom,
): readonly (readonly [string, string])[] {
  const fields = [...requestFields({ ":path": DECIDE_PATH })];
  for (let change = 1 + random.below(4); change > 0; change--) {
    const field = [random.pick(NAMES), random.pick(VALUES)] as const;
    if (random.chance(0.5)) fields.splice(random.below(fields.length), 1);
    fields.splice(random.below(fields.length + 1), 0, field);
  }
  return fields;
}

/**
 * A header block made of random index references, table size updates,
 * unterminated integers and Huffman codes.
 */
function randomBlock(random: SeededRandom, id: number): Uint8Array {
  const parts = Array.from({ length: 1 + random.below(20) }, () => {
    switch (random.below(5)) {
      case 0:
        return Uint8Array.of(0x80 | random.below(128));
      case 1:
        return Uint8Array.of(0x20 | random.below(32), random.below(256));
      case 2:
        return new Uint8Array(1 + random.below(12)).fill(0xff);
      case 3: {
        const coded = createBytes(random, random.below(30));
        return concat(
          Uint8Array.of(0x40, 0x80 | coded.length),
          coded,
          Uint8Array.of(1, 0x61),
        );
      }
      default:
        return createBytes(random, 1 + random.below(8));
    }
  });
  return buildFrame({
    type: HEADERS,
    flags: random.pick([4, 5, 4, 0x2c]),
    streamId: id,
    payload: concat(...parts),
  });
}

function randomFrame(random: SeededRandom, id: number): Uint8Array {
  const frame = buildFrame({
    type: random.below(FRAME_TYPES),
    flags: random.below(256),
    streamId: random.chance(0.7) ? id : 0,
    payload: createBytes(random, random.below(64)),
  });
  // A length field that does not match the payload.
  if (random.chance(0.1)) frame[random.below(3)] = random.below(256);
  return frame;
}

function createBytes(random: SeededRandom, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.below(256));
}

/**
 * Returns the bytes unchanged in most cases, and otherwise with a few bytes
 * changed, removed or inserted.
 */
function mutated(random: SeededRandom, bytes: Uint8Array): Uint8Array {
  let result = bytes;
  if (random.chance(0.6)) return result;
  for (let change = 1 + random.below(3); change > 0; change--) {
    const at = random.below(result.length + 1);
    const put = random.chance(0.6)
      ? createBytes(random, random.below(4))
      : NOTHING;
    const rest = result.slice(at + random.below(4));
    result = concat(result.slice(0, at), put, rest);
  }
  return result;
}

const NOTHING = new Uint8Array();

function acts(random: SeededRandom, bytes: Uint8Array): Conversation {
  const pieces = random.chance(0.5) ? 1 : 1 + random.below(6);
  const cuts = Array.from(
    { length: pieces - 1 },
    () => random.below(bytes.length + 1),
  ).sort((a, b) => a - b);
  const told: Act[] = [];
  for (const [i, end] of [...cuts, bytes.length].entries()) {
    const start = i === 0 ? 0 : cuts[i - 1]!;
    told.push({ kind: "send", bytes: bytes.slice(start, end) });
    if (random.chance(0.4)) {
      told.push({ kind: "stall", ms: random.below(MAX_STALL_MS) });
    }
  }
  if (random.chance(0.3)) told.push({ kind: "half_close" });
  return told;
}
