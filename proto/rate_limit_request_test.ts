import {
  assert,
  assertEquals,
  assertExists,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { SeededRandom } from "../tests/support/seeded_random.ts";
import {
  decodeRateLimitRequest,
  encodeRateLimitRequest,
  type RateLimitRequest,
  viewRateLimitRequest,
} from "./rate_limit_request.ts";
import { RequestView } from "./request_view.ts";
import {
  delimited,
  encodeVarint,
  hex,
  joinedBytes,
  varintField,
} from "./testing/hand_wire.ts";
import { randomRequest } from "./testing/random_messages.ts";
import { requestOfView } from "./testing/request_of_view.ts";
import { loadSchema } from "./testing/schema.ts";
import type { DecodeFault } from "./wire.ts";

const REQUEST = "envoy.service.ratelimit.v3.RateLimitRequest";

Deno.test("decodeRateLimitRequest() reads what the independent library wrote", async () => {
  const independent = (await loadSchema())(REQUEST);
  const random = new SeededRandom(1);
  const view = new RequestView();
  for (let round = 0; round < 3_000; round++) {
    const request = randomRequest(random);
    const bytes = independent.encode(toPlain(request));
    assertEquals(decodeRateLimitRequest(bytes, view), undefined);
    assertEquals(requestOfView(view), withoutDefaults(request));
  }
});

Deno.test("encodeRateLimitRequest() writes what the independent library reads", async () => {
  const independent = (await loadSchema())(REQUEST);
  const random = new SeededRandom(2);
  for (let round = 0; round < 3_000; round++) {
    const request = randomRequest(random);
    const bytes = encodeRateLimitRequest(request);
    const expected = independent.decode(independent.encode(toPlain(request)));
    assertEquals(independent.decode(bytes), expected);
  }
});

Deno.test("decodeRateLimitRequest() reads what encodeRateLimitRequest() wrote", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 3_000; round++) {
    const request = randomRequest(random);
    const bytes = encodeRateLimitRequest(request);
    assertEquals(accepted(bytes), withoutDefaults(request));
  }
});

Deno.test("viewRateLimitRequest() gives what writing and decoding gives, in its memory or beyond", () => {
  const random = new SeededRandom(4);
  const view = new RequestView();
  for (const memory of [new Uint8Array(), new Uint8Array(16_384)]) {
    for (let round = 0; round < 1_500; round++) {
      const request = randomRequest(random);
      memory.fill(0x7a);
      assertEquals(viewRateLimitRequest(request, view, { memory }), undefined);
      assertEquals(requestOfView(view), withoutDefaults(request));
    }
  }
});

Deno.test("viewRateLimitRequest() counts the descriptors when there are too many", () => {
  const options = { memory: new Uint8Array(64), maxDescriptors: 2 };
  const view = new RequestView();
  assertEquals(
    viewRateLimitRequest(createRequest(2), view, options),
    undefined,
  );
  const fault = viewRateLimitRequest(createRequest(3), view, options);
  assert(fault?.kind === "too_many_descriptors");
  assertEquals([fault.count, view.descriptorCount], [3, 0]);
});

Deno.test("encodeRateLimitRequest() writes the golden bytes", () => {
  const bytes = encodeRateLimitRequest({
    domain: "basic",
    descriptors: [{
      entries: [{ key: "key1", value: "" }, { key: "k", value: "é" }],
      limit: { requestsPerUnit: 300, unit: 2 },
      hitsAddend: 0,
      isNegativeHits: true,
    }],
    hitsAddend: 3,
  });
  assertEquals(
    hex(bytes),
    "0a05" + "6261736963" + // domain
      "121c" + // descriptor of 28 bytes
      "0a06" + "0a046b657931" + // entry without a value
      "0a07" + "0a016b1202c3a9" + // entry
      "1205" + "08ac021002" + // limit
      "1a00" + // hits_addend, present and 0
      "2001" + // is_negative_hits
      "1803", // hits_addend
  );
});

Deno.test("encodeRateLimitRequest() throws when a number does not fit", () => {
  const base = { domain: "d", descriptors: [] };
  for (const hitsAddend of [-1, 1.5, NaN, Infinity, 4_294_967_296]) {
    assertThrows(
      () => encodeRateLimitRequest({ ...base, hitsAddend }),
      RangeError,
      `Cannot encode request: hitsAddend is ${hitsAddend}`,
    );
  }
  const entries = [{ key: "k", value: "v" }];
  for (
    const wrong of [
      { entries, hitsAddend: 2 ** 53 },
      { entries, limit: { requestsPerUnit: -1, unit: 1 } },
      { entries, limit: { requestsPerUnit: 1, unit: 2 ** 31 } },
    ]
  ) {
    assertThrows(
      () => encodeRateLimitRequest({ domain: "d", descriptors: [wrong] }),
      RangeError,
    );
  }
});

Deno.test("decodeRateLimitRequest() takes fields in any order and merges those that come twice", () => {
  const entry = (key: string, value: string) =>
    delimited(1, joinedBytes(delimited(2, value), delimited(1, key)));
  const descriptor = joinedBytes(
    delimited(2, varintField(1, 10)), // limit: requests_per_unit only
    entry("a", "1"),
    delimited(3, varintField(1, 9)),
    delimited(2, joinedBytes(varintField(2, 2), varintField(2, 3))),
    delimited(3, []), // merges: the 9 stays
    varintField(4, 1),
    entry("b", "2"),
    varintField(4, 0), // the last one wins
  );
  const bytes = joinedBytes(
    varintField(3, 1),
    delimited(2, descriptor),
    delimited(1, "first"),
    varintField(3, 2),
    delimited(1, "second"),
  );
  assertEquals(accepted(bytes), {
    domain: "second",
    descriptors: [{
      entries: [{ key: "a", value: "1" }, { key: "b", value: "2" }],
      limit: { requestsPerUnit: 10, unit: 3 },
      hitsAddend: 9,
    }],
    hitsAddend: 2,
  });
});

Deno.test("decodeRateLimitRequest() takes a present but empty hits_addend as 0", () => {
  const view = new RequestView();
  const bytes = delimited(2, joinedBytes(delimited(1, []), delimited(3, [])));
  assertEquals(decodeRateLimitRequest(bytes, view), undefined);
  assert(view.hasHitsAddend(0));
  assertEquals(view.descriptorHitsAddend(0), 0);
  assertEquals(view.lastEntry(0), 1);
});

Deno.test("decodeRateLimitRequest() takes the low bits of integers that are too wide", () => {
  const minusOne = 2n ** 64n - 1n;
  const limit = joinedBytes(
    varintField(1, 2n ** 40n + 7n),
    varintField(2, minusOne),
  );
  const descriptor = joinedBytes(
    delimited(2, limit),
    varintField(4, 2n ** 63n),
  );
  const bytes = joinedBytes(
    delimited(2, descriptor),
    varintField(3, minusOne),
  );
  assertEquals(accepted(bytes), {
    domain: "",
    descriptors: [{
      entries: [],
      limit: { requestsPerUnit: 7, unit: -1 },
      isNegativeHits: true,
    }],
    hitsAddend: 0xffff_ffff,
  });
});

Deno.test("decodeRateLimitRequest() bounds the hits of a descriptor", () => {
  const hits = (value: bigint) =>
    delimited(2, delimited(3, varintField(1, value)));
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  assertEquals(
    accepted(hits(most)).descriptors[0]?.hitsAddend,
    Number.MAX_SAFE_INTEGER,
  );
  for (const value of [most + 1n, most + 2n, 2n ** 64n - 1n]) {
    const fault = refused(hits(value));
    assertEquals(fault.kind, "malformed");
    assertStringIncludes(fault.reason, "hits_addend of descriptor 0 is over");
  }
});

Deno.test("decodeRateLimitRequest() skips unknown fields of every wire type, at every level", () => {
  const group = joinedBytes(
    (15 << 3) | 3,
    varintField(1, 5),
    [(1 << 3) | 3, (1 << 3) | 4],
    delimited(2, "inner"),
    (15 << 3) | 4,
  );
  const unknown = joinedBytes(
    varintField(13, 2n ** 64n - 1n),
    [13 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8],
    delimited(13, [0xff, 0xfe]),
    group,
    [13 << 3 | 5, 1, 2, 3, 4],
    encodeVarint(0xffff_fff8), // the largest field number
    0,
    // Known field numbers with a wrong wire type.
    [2 << 3, 1, 1 << 3 | 5, 0, 0, 0, 0],
    [3 << 3 | 1, 0, 0, 0, 0, 0, 0, 0, 0, 4 << 3 | 2, 1, 9],
  );
  const around = (content: Uint8Array) =>
    joinedBytes(unknown, content, unknown);
  const entry = joinedBytes(delimited(1, "k"), delimited(2, "v"));
  // Fields 1 and 2 of the limit are varints, so `unknown` holds one of them.
  const limit = joinedBytes(unknown, varintField(1, 5), varintField(2, 1));
  const descriptor = joinedBytes(
    delimited(1, around(entry)),
    delimited(2, limit),
    delimited(3, around(varintField(1, 4))),
  );
  const bytes = around(
    joinedBytes(delimited(1, "d"), delimited(2, around(descriptor))),
  );
  assertEquals(accepted(bytes), {
    domain: "d",
    descriptors: [{
      entries: [{ key: "k", value: "v" }],
      limit: { requestsPerUnit: 5, unit: 1 },
      hitsAddend: 4,
    }],
  });
});

Deno.test("decodeRateLimitRequest() tells what is wrong and where", () => {
  const cases: readonly (readonly [string, Uint8Array | number[]])[] = [
    ["truncated field 1 at byte 2", [0x0a, 5, 0x61]],
    ["truncated field 1 at byte 1", [0x0a]],
    ["truncated tag at byte 0", [0x80]],
    ["truncated field 3 at byte 1", [0x18, 0x80]],
    ["truncated field 9 at byte 1", [9 << 3 | 5, 0, 0, 0]],
    ["truncated field 9 at byte 1", [9 << 3 | 1, 0, 0, 0, 0, 0, 0, 0]],
    // The inner length runs over the outer end, though not over the bytes.
    ["truncated field 1 at byte 4", [0x12, 2, 0x0a, 3, 0, 0, 0]],
    ["field number out of range at byte 0", [0]],
    ["field number out of range at byte 0", [0x02, 0]],
    ["field number out of range at byte 0", encodeVarint(2n ** 32n)],
    ["integer over 64 bits at byte 1", joinedBytes(0x18, overLong(11))],
    ["integer over 64 bits at byte 1", joinedBytes(0x48, overLong(11))],
    [
      "integer over 64 bits at byte 1",
      joinedBytes(0x18, encodeVarint(2n ** 64n)),
    ],
    ["wire type 6 of field 9 at byte 1 is unknown", [9 << 3 | 6]],
    ["wire type 7 of field 1 at byte 1 is unknown", [1 << 3 | 7]],
    ["group of field 9 ends unopened at byte 1", [9 << 3 | 4]],
    ["group of field 9 ends unopened", [8 << 3 | 3, 9 << 3 | 4]],
    ["group of field 9 is not closed", [9 << 3 | 3, 8, 1]],
    ["groups are nested over 100 deep", Array(200).fill(9 << 3 | 3)],
    ["field 1 at byte 2 is not UTF-8 text", delimited(1, [0xff])],
    [
      "field 2 at byte 9 is not UTF-8 text",
      delimited(
        2,
        delimited(
          1,
          joinedBytes(delimited(1, "k"), delimited(2, [0xc0, 0x80])),
        ),
      ),
    ],
  ];
  for (const [reason, bytes] of cases) {
    const fault = refused(Uint8Array.from(bytes));
    assertEquals(fault.kind, "malformed");
    assertStringIncludes(fault.reason, `Cannot decode request: ${reason}`);
  }
});

Deno.test("decodeRateLimitRequest() takes an integer of ten bytes", () => {
  const bytes = joinedBytes(0x18, overLong(10));
  assertEquals(accepted(bytes).hitsAddend, undefined);
});

Deno.test("decodeRateLimitRequest() never reads beyond, wherever the bytes end", () => {
  const random = new SeededRandom(4);
  const view = new RequestView();
  for (let round = 0; round < 150; round++) {
    const whole = encodeRateLimitRequest(randomRequest(random));
    const boundaries = topLevelBoundaries(whole);
    const step = Math.max(1, Math.floor(whole.length / 200));
    for (let length = 0; length < whole.length; length += step) {
      // The bytes behind the cut, in the same buffer, would complete the
      // message.
      const cut = whole.subarray(0, length);
      const fault = decodeRateLimitRequest(cut, view);
      assertEquals(fault === undefined, boundaries.has(length));
      assertWithin(view, length);
    }
  }
});

Deno.test("decodeRateLimitRequest() never throws, whatever the bytes", () => {
  const random = new SeededRandom(5);
  const view = new RequestView();
  let taken = 0;
  for (let round = 0; round < 40_000; round++) {
    const bytes = random.chance(0.5)
      ? random.bytes(random.below(40))
      : mutated(random, encodeRateLimitRequest(randomRequest(random)));
    const fault = decodeRateLimitRequest(bytes, view);
    assertWithin(view, bytes.length);
    if (fault === undefined) {
      taken++;
      requestOfView(view); // throws for text that is not UTF-8
    } else assertEquals(view.descriptorCount, 0);
  }
  assert(taken > 1_000, `only ${taken} of the requests were taken`);
});

Deno.test("decodeRateLimitRequest() takes 3,000 descriptors, and then few again", () => {
  const view = new RequestView();
  const small = createRequest(1);
  const large = createRequest(3_000);
  for (const request of [small, large, createRequest(20_000), small, large]) {
    const bytes = encodeRateLimitRequest(request);
    assertEquals(decodeRateLimitRequest(bytes, view), undefined);
    assertEquals(requestOfView(view), request);
  }
});

Deno.test("decodeRateLimitRequest() counts the descriptors when there are too many", () => {
  const options = { maxDescriptors: 3 };
  const three = encodeRateLimitRequest(createRequest(3));
  assertEquals(accepted(three, options).descriptors.length, 3);
  const seven = encodeRateLimitRequest(createRequest(7));
  assertEquals(refused(seven, options), {
    kind: "too_many_descriptors",
    reason: "Cannot accept request: it holds 7 descriptors, 3 are allowed",
    count: 7,
  });
  const broken = seven.subarray(0, seven.length - 1);
  assertEquals(refused(broken, options).kind, "malformed");
});

Deno.test("decodeRateLimitRequest() empties the view of what it held before", () => {
  const view = new RequestView();
  decodeRateLimitRequest(
    encodeRateLimitRequest({ ...createRequest(2), hitsAddend: 5 }),
    view,
  );
  const empty = new Uint8Array(0);
  assertEquals(decodeRateLimitRequest(empty, view), undefined);
  assertEquals(requestOfView(view), { domain: "", descriptors: [] });
  assertStrictEquals(view.bytes, empty);
});

function accepted(
  bytes: Uint8Array,
  options: Parameters<typeof decodeRateLimitRequest>[2] = {},
): RateLimitRequest {
  const view = new RequestView();
  assertEquals(decodeRateLimitRequest(bytes, view, options), undefined);
  return requestOfView(view);
}

function refused(
  bytes: Uint8Array,
  options: Parameters<typeof decodeRateLimitRequest>[2] = {},
): DecodeFault {
  const view = new RequestView();
  const fault = decodeRateLimitRequest(bytes, view, options);
  assertExists(fault);
  assertEquals(requestOfView(view), { domain: "", descriptors: [] });
  return fault;
}

function createRequest(count: number): RateLimitRequest {
  return {
    domain: "d",
    descriptors: Array.from({ length: count }, (_, index) => ({
      entries: [{ key: "k", value: `${index}` }],
      ...(index % 3 === 0 && { hitsAddend: index }),
    })),
  };
}

/** Encodes zero as a varint of `length` bytes, more than it needs. */
function overLong(length: number): number[] {
  return [...Array<number>(length - 1).fill(0x80), 0];
}

/** The request in the form protobufjs takes: the wrapper is a message. */
function toPlain(request: RateLimitRequest): Record<string, unknown> {
  return {
    ...request,
    descriptors: request.descriptors.map((descriptor) => ({
      ...descriptor,
      ...(descriptor.hitsAddend !== undefined && {
        hitsAddend: { value: descriptor.hitsAddend },
      }),
    })),
  };
}

function withoutDefaults(request: RateLimitRequest): RateLimitRequest {
  const { hitsAddend, ...rest } = request;
  return hitsAddend ? { ...rest, hitsAddend } : rest;
}

/** Lengths at which the message may end: before each of its fields. */
function topLevelBoundaries(bytes: Uint8Array): Set<number> {
  const boundaries = new Set<number>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1;; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    boundaries.add(at);
    const wireType = varint() & 7;
    const value = varint();
    if (wireType === 2) at += value;
  }
  return boundaries;
}

function mutated(random: SeededRandom, bytes: Uint8Array): Uint8Array {
  const changed = bytes.slice(0, random.below(bytes.length + 1));
  for (let times = random.below(4); times > 0; times--) {
    changed[random.below(changed.length)] = random.below(256);
  }
  return changed;
}

function assertWithin(view: RequestView, length: number): void {
  assert(view.domainStart <= view.domainEnd && view.domainEnd <= length);
  for (let index = 0; index < view.descriptorCount; index++) {
    const last = view.lastEntry(index);
    for (let entry = view.firstEntry(index); entry < last; entry++) {
      assert(view.keyStart(entry) <= view.keyEnd(entry));
      assert(view.valueStart(entry) <= view.valueEnd(entry));
      assert(view.keyEnd(entry) <= length && view.valueEnd(entry) <= length);
    }
  }
}
