import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  CODE,
  decodeRateLimitResponse,
  encodeRateLimitResponse,
  type RateLimitResponse,
  UNIT,
} from "./rate_limit_response.ts";
import { type JsonObject, type JsonValue, MAX_STRUCT_DEPTH } from "./struct.ts";
import {
  delimited,
  hex,
  joinedBytes,
  varintField,
} from "./testing/hand_wire.ts";
import { randomResponse } from "./testing/random_messages.ts";
import { loadSchema } from "./testing/schema.ts";
import { SeededRandom } from "../tests/support/seeded_random.ts";
import { WireWriter } from "./wire_writer.ts";

const RESPONSE = "envoy.service.ratelimit.v3.RateLimitResponse";
const EMPTY: RateLimitResponse = {
  overallCode: CODE.UNKNOWN,
  statuses: [],
  responseHeadersToAdd: [],
};

Deno.test("encodeRateLimitResponse() writes what the independent library reads", async () => {
  const independent = (await loadSchema())(RESPONSE);
  const random = new SeededRandom(11);
  for (let round = 0; round < 3_000; round++) {
    const response = randomResponse(random);
    const expected = independent.decode(independent.encode(toPlain(response)));
    const bytes = encodeRateLimitResponse(response);
    assertEquals(independent.decode(bytes), expected);
    assertEquals(bytes.byteLength, bytes.buffer.byteLength);
  }
});

Deno.test("decodeRateLimitResponse() reads what the independent library wrote", async () => {
  const independent = (await loadSchema())(RESPONSE);
  const random = new SeededRandom(12);
  for (let round = 0; round < 3_000; round++) {
    const response = randomResponse(random);
    const bytes = independent.encode({
      ...toPlain(response),
      // Fields that `RateLimitResponse` does not have.
      requestHeadersToAdd: [{ key: "k", rawValue: new Uint8Array([255]) }],
      rawBody: new Uint8Array([254]),
      quota: { requests: 5, validUntil: { seconds: 9 }, id: "q" },
    });
    assertEquals(decodeRateLimitResponse(bytes), response);
  }
});

Deno.test("decodeRateLimitResponse() reads what encodeRateLimitResponse() wrote", () => {
  const random = new SeededRandom(13);
  for (let round = 0; round < 3_000; round++) {
    const response = randomResponse(random);
    const bytes = encodeRateLimitResponse(response);
    assertEquals(decodeRateLimitResponse(bytes), response);
  }
});

Deno.test("encodeRateLimitResponse() writes the golden bytes", () => {
  const bytes = encodeRateLimitResponse({
    overallCode: CODE.OVER_LIMIT,
    statuses: [
      {
        code: CODE.OVER_LIMIT,
        currentLimit: { requestsPerUnit: 300, unit: UNIT.WEEK, name: "n" },
        limitRemaining: 0,
        durationUntilResetSeconds: 37,
      },
      {
        code: CODE.OK,
        currentLimit: { requestsPerUnit: 0, unit: 0, name: "" },
        limitRemaining: 4_294_967_295,
        durationUntilResetSeconds: 0,
      },
    ],
    responseHeadersToAdd: [{ key: "a", value: "" }],
    dynamicMetadata: { x: null, y: [true] },
  });
  assertEquals(
    hex(bytes),
    "0802" +
      "1210" + "0802" + "1208" + "08ac02" + "1007" + "1a016e" +
      "22020825" +
      "120c" + "0801" + "1200" + "18ffffffff0f" + "2200" +
      "1a03" + "0a0161" +
      "3216" + "0a07" + "0a0178" + "1202" + "0800" +
      "0a0b" + "0a0179" + "1206" + "3204" + "0a02" + "2001",
  );
});

Deno.test("encodeRateLimitResponse() writes nothing for an answer of defaults", () => {
  assertEquals(encodeRateLimitResponse(EMPTY).length, 0);
  assertEquals(decodeRateLimitResponse(new Uint8Array(0)), EMPTY);
});

Deno.test("decodeRateLimitResponse() merges messages that come twice", () => {
  const field = (name: string, value: Uint8Array) =>
    delimited(1, joinedBytes(delimited(1, name), delimited(2, value)));
  const struct = (content: Uint8Array) => delimited(5, content);
  const list = (...values: number[]) =>
    delimited(
      6,
      joinedBytes(
        ...values.map((value) => delimited(1, varintField(4, value))),
      ),
    );
  const one = varintField(4, 1);
  const bytes = joinedBytes(
    delimited(
      2,
      joinedBytes(
        delimited(2, joinedBytes(varintField(1, 5), delimited(3, "name"))),
        delimited(4, varintField(1, 7)),
        delimited(2, varintField(2, 3)),
        delimited(4, varintField(2, 500_000_000)), // nanos
      ),
    ),
    delimited(6, field("a", one)),
    delimited(
      6,
      joinedBytes(
        field(
          "b",
          joinedBytes(struct(field("x", one)), struct(field("y", one))),
        ),
        field("c", joinedBytes(list(1), list(0))),
        // The last member of a oneof wins; another one in between discards it.
        field(
          "d",
          joinedBytes(struct(field("x", one)), one, struct(field("z", one))),
        ),
        field("a", varintField(4, 0)), // a later field of the same name wins
        field("e", new Uint8Array(0)), // no kind at all
      ),
    ),
  );
  assertEquals(decodeRateLimitResponse(bytes), {
    ...EMPTY,
    statuses: [{
      code: CODE.UNKNOWN,
      currentLimit: { requestsPerUnit: 5, unit: 3, name: "name" },
      limitRemaining: 0,
      durationUntilResetSeconds: 7,
    }],
    dynamicMetadata: {
      a: false,
      b: { x: true, y: true },
      c: [true, false],
      d: { z: true },
      e: null,
    },
  });
});

Deno.test("decodeRateLimitResponse() takes a code it does not know as UNKNOWN", () => {
  const bytes = joinedBytes(varintField(1, 9), delimited(2, varintField(1, 3)));
  assertEquals(decodeRateLimitResponse(bytes), {
    ...EMPTY,
    statuses: [{ code: CODE.UNKNOWN, limitRemaining: 0 }],
  });
});

Deno.test("decodeRateLimitResponse() keeps a name such as __proto__ a plain field", () => {
  const dynamicMetadata = JSON.parse('{"__proto__":{"a":1}}') as JsonObject;
  const bytes = encodeRateLimitResponse({ ...EMPTY, dynamicMetadata });
  const response = decodeRateLimitResponse(bytes);
  assert(!("kind" in response));
  assertEquals(
    JSON.stringify(response.dynamicMetadata),
    '{"__proto__":{"a":1}}',
  );
  assertEquals(
    Object.getPrototypeOf(response.dynamicMetadata),
    Object.prototype,
  );
});

Deno.test("encodeRateLimitResponse() leaves earlier answers alone when the writer is shared", () => {
  const random = new SeededRandom(15);
  const writer = new WireWriter(1_024);
  const written: [RateLimitResponse, Uint8Array][] = [];
  for (let round = 0; round < 500; round++) {
    const response = randomResponse(random);
    const bytes = encodeRateLimitResponse(response, { writer });
    written.push([response, bytes]);
    if (round % 10 === 0) {
      const dynamicMetadata = { top: nested(MAX_STRUCT_DEPTH, (v) => [v]) };
      assertThrows(() =>
        encodeRateLimitResponse({ ...response, dynamicMetadata }, { writer })
      );
    }
  }
  for (const [response, bytes] of written) {
    assertEquals(bytes, encodeRateLimitResponse(response));
  }
  const buffers = new Set(written.map(([, bytes]) => bytes.buffer));
  assert(buffers.size < written.length, "no buffer was shared");
});

Deno.test("encodeRateLimitResponse() bounds the depth of metadata", () => {
  for (const wrap of [(v: JsonValue) => ({ a: v }), (v: JsonValue) => [v]]) {
    const deepest = { top: nested(MAX_STRUCT_DEPTH - 1, wrap) };
    const bytes = encodeRateLimitResponse({
      ...EMPTY,
      dynamicMetadata: deepest,
    });
    assertEquals(decodeRateLimitResponse(bytes), {
      ...EMPTY,
      dynamicMetadata: deepest,
    });
    const deeper = { top: nested(MAX_STRUCT_DEPTH, wrap) };
    assertThrows(
      () => encodeRateLimitResponse({ ...EMPTY, dynamicMetadata: deeper }),
      RangeError,
      "Cannot encode metadata: it is nested over 32 levels deep",
    );
  }
  const circle: Record<string, JsonValue> = {};
  circle["self"] = circle;
  assertThrows(
    () => encodeRateLimitResponse({ ...EMPTY, dynamicMetadata: circle }),
    RangeError,
  );
});

Deno.test("decodeRateLimitResponse() bounds the depth of metadata", async () => {
  const independent = (await loadSchema())(RESPONSE);
  const deep = (depth: number): Record<string, unknown> =>
    depth === 0
      ? { fields: {} }
      : { fields: { a: { structValue: deep(depth - 1) } } };
  const most = independent.encode({
    dynamicMetadata: deep(MAX_STRUCT_DEPTH - 1),
  });
  assert(!("kind" in decodeRateLimitResponse(most)));
  const over = independent.encode({ dynamicMetadata: deep(MAX_STRUCT_DEPTH) });
  const fault = decodeRateLimitResponse(over);
  assert("kind" in fault);
  assertStringIncludes(
    fault.reason,
    "Cannot decode response: metadata is nested over 32 levels deep at byte",
  );
});

Deno.test("decodeRateLimitResponse() never throws, whatever the bytes", () => {
  const random = new SeededRandom(14);
  let taken = 0;
  for (let round = 0; round < 20_000; round++) {
    const whole = encodeRateLimitResponse(randomResponse(random));
    const bytes = random.chance(0.3)
      ? random.bytes(random.below(40))
      : whole.slice(0, random.below(whole.length + 1));
    if (bytes.length > 0 && random.chance(0.7)) {
      bytes[random.below(bytes.length)] = random.below(256);
    }
    const response = decodeRateLimitResponse(bytes);
    if ("kind" in response) {
      assertStringIncludes(response.reason, "Cannot decode response: ");
    } else {
      taken++;
      // An answer that was decoded can be encoded and decoded again.
      const again = decodeRateLimitResponse(encodeRateLimitResponse(response));
      assertEquals(again, response);
    }
  }
  assert(taken > 500, `only ${taken} of the answers were taken`);
});

/** The answer in the form protobufjs takes. */
function toPlain(response: RateLimitResponse): Record<string, unknown> {
  const { dynamicMetadata, ...rest } = response;
  return {
    ...rest,
    statuses: response.statuses.map(
      ({ durationUntilResetSeconds, ...status }) => ({
        ...status,
        ...(durationUntilResetSeconds !== undefined && {
          durationUntilReset: { seconds: durationUntilResetSeconds },
        }),
      }),
    ),
    ...(dynamicMetadata !== undefined && {
      dynamicMetadata: toStruct(dynamicMetadata),
    }),
  };
}

function toStruct(object: JsonObject): Record<string, unknown> {
  return {
    fields: Object.fromEntries(
      Object.entries(object).map(([key, value]) => [key, toValue(value)]),
    ),
  };
}

function toValue(value: JsonValue): Record<string, unknown> {
  if (value === null) return { nullValue: 0 };
  if (typeof value === "number") return { numberValue: value };
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (!Array.isArray(value)) {
    return { structValue: toStruct(value as JsonObject) };
  }
  return { listValue: { values: value.map(toValue) } };
}

function nested(
  depth: number,
  wrap: (value: JsonValue) => JsonValue,
): JsonValue {
  return depth === 0 ? true : wrap(nested(depth - 1, wrap));
}
