import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { list } from "../../shared/schema/composite.ts";
import { object, optional } from "../../shared/schema/object.ts";
import { readWhole, type Schema } from "../../shared/schema/schema.ts";
import { choice, number } from "../../shared/schema/values.ts";
import {
  BASE64_BYTES,
  cappedCount,
  cappedPositive,
  clampedCount,
  faultText,
  INSTANT_MS,
  members,
  METADATA,
  NAMESPACE,
  ORDERING_FIELDS,
  RECORD_ID,
  SHORT_NAME,
  text,
  unitVector,
} from "./body_schemas.ts";

Deno.test("faultText() names members within members", () => {
  const schema = members({
    outer: list(members({ inner: text(5) }), { minItems: 1, maxItems: 5 }),
  });
  const outer = [{ inner: "a" }, { inner: "" }];
  assertEquals(fault(schema, { outer }), '"outer[1].inner" is blank');
  assertEquals(fault(schema, { outer: [{}] }), '"outer[0].inner" is missing');
  assertEquals(fault(schema, { outer: [] }), '"outer" has fewer than 1 items');
  assertEquals(fault(schema, []), "the body is a list, not an object");
});

Deno.test("faultText() quotes names so that they end no line", () => {
  const told = fault(members({ metadata: METADATA }), {
    metadata: { "a\nb": 1, "c~/d": 1 },
  });
  assertEquals(
    told,
    '"metadata.a\\nb" is not a name of 1 to 64 bytes without control ' +
      "characters",
  );
});

Deno.test("members() takes nothing and null for absence, and leaves others alone", () => {
  const schema = members({ a: optional(text(5)) });
  assertEquals(readValue(schema, {}), {});
  assertEquals(readValue(schema, { a: null, b: 5 }), {});
  assertEquals(fault(schema, { a: "" }), '"a" is blank');
});

Deno.test("text() counts bytes of UTF-8, not characters", () => {
  assertEquals(readValue(text(4), "😀"), "😀");
  assertEquals(readValue(text(3), "😀"), undefined);
  assertEquals(readValue(text(6), "äöü"), "äöü");
  assertEquals(readValue(text(5), "äöü"), undefined);
});

Deno.test("text() keeps a text as it is", () => {
  const odd = " \u0000tea\ufeff\u200b ";
  assertEquals(readValue(text(100), odd), odd);
});

Deno.test("SHORT_NAME takes 1 to 255 bytes without control characters", () => {
  for (const name of ["a", "x".repeat(255), "ü".repeat(127), "a b/c.d"]) {
    assertEquals(readValue(SHORT_NAME, name), name);
  }
  for (
    const name of ["", "x".repeat(256), "ü".repeat(128), "a\tb", "\u0085x"]
  ) {
    assertEquals(readValue(SHORT_NAME, name), undefined, name);
  }
  assertEquals(NAMESPACE.fallback, "default");
});

Deno.test("RECORD_ID takes letters, digits, _ and -, at most 64", () => {
  for (const id of ["a", "A_-9", "x".repeat(64)]) {
    assertEquals(readValue(RECORD_ID, id), id);
  }
  for (const id of ["", "a.b", "a/b", "ä", "x".repeat(65), "a\n", 5, null]) {
    assertEquals(readValue(RECORD_ID, id), undefined, `${id}`);
  }
});

Deno.test("faultText() lists the words of a choice", () => {
  assertEquals(
    fault(members({ w: choice(["a", "b"]) }), { w: "cherry" }),
    '"w": "cherry" is unknown; known are "a", "b"',
  );
});

Deno.test("BASE64_BYTES gives back any bytes", () => {
  const random = new SeededRandom(9);
  for (let round = 0; round < 200; round++) {
    const bytes = Uint8Array.from(
      { length: 1 + random.below(50) },
      () => random.below(256),
    );
    assertEquals(readValue(BASE64_BYTES, bytes.toBase64()), bytes);
  }
});

Deno.test("BASE64_BYTES refuses what is not base64", () => {
  for (const value of ["", "a", "ab==c", "a b=", 5, undefined]) {
    assertEquals(readValue(BASE64_BYTES, value), undefined, `${value}`);
  }
});

Deno.test("number() takes numbers of its span alone", () => {
  const schema = number({ minimum: 0, maximum: 1 });
  for (const value of [0, 0.5, 1]) {
    assertEquals(readValue(schema, value), value);
  }
  for (const value of [-0.001, 1.001, NaN, Infinity, "0.5", null, undefined]) {
    assertEquals(readValue(schema, value), undefined, `${value}`);
  }
});

Deno.test("clampedCount() and cappedPositive() move values into their span", () => {
  const clamp = clampedCount({ min: 1, max: 9 });
  assertEquals([-5, 0, 4, 1e9, 1e300].map((value) => readValue(clamp, value)), [
    1,
    1,
    4,
    9,
    9,
  ]);
  assertEquals(readValue(clamp, Infinity), undefined);
  assertEquals(readValue(clamp, 1.5), undefined);
  const cap = cappedPositive(9);
  assertEquals([0.5, 9, 1e300].map((value) => readValue(cap, value)), [
    0.5,
    9,
    9,
  ]);
  assertEquals(readValue(cap, NaN), undefined);
  assertEquals(readValue(cap, 0), undefined);
  assertEquals(readValue(cappedCount(5), 1e300), 5);
  assertEquals(readValue(cappedCount(5), 0), undefined);
});

Deno.test("unitVector() keeps the direction and makes the length 1", () => {
  const random = new SeededRandom(4);
  for (let round = 0; round < 200; round++) {
    const scale = 10 ** (random.below(600) - 300);
    const given = [1, 2, 3].map(() => (random.below(2_001) - 1_000) * scale);
    if (given.every((number) => number === 0)) continue;
    const vector = readValue(unitVector(3), given);
    assert(vector !== undefined);
    assertAlmostEquals(Math.hypot(...vector), 1, 1e-6);
    const largest = Math.max(...given.map(Math.abs));
    const most = Math.max(...vector.map(Math.abs));
    for (const [place, number] of given.entries()) {
      assertAlmostEquals(
        (vector[place] ?? NaN) / most,
        number / largest,
        1e-5,
      );
    }
  }
});

Deno.test("INSTANT_MS reads RFC 3339 and refuses days that there are not", () => {
  const good = [
    ["2030-01-31T12:00:00Z", Date.UTC(2030, 0, 31, 12)],
    ["2030-01-31t12:00:00.123456z", Date.UTC(2030, 0, 31, 12, 0, 0, 123)],
    ["2028-02-29T00:00:00-01:30", Date.UTC(2028, 1, 29, 1, 30)],
  ] as const;
  for (const [value, ms] of good) {
    assertEquals(readValue(INSTANT_MS, value), ms, value);
  }
  const bad = [
    "2030-02-29T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-01-00T00:00:00Z",
    "2030-01-31T12:00:00",
    "2030-01-31",
    "2030-01-31T25:00:00Z",
    "2030-01-31T12:00:00+25:00",
    "today",
    0,
  ];
  for (const value of bad) {
    assertEquals(readValue(INSTANT_MS, value), undefined, `${value}`);
  }
});

Deno.test("ORDERING_FIELDS name an unknown weight and the one that was probably meant", () => {
  const schema = object(ORDERING_FIELDS);
  const findFault = (weights: Readonly<Record<string, unknown>>) =>
    fault(schema, { scoring_weights: weights });
  assertEquals(findFault({ semantic: 1, recency: 0.5 }), undefined);
  assertEquals(
    findFault({ semantic: 1, recencyHalfLifeDays: 3 }),
    '"scoring_weights.recencyHalfLifeDays" is unknown; did you mean ' +
      '"recency_half_life_days"?',
  );
  assertEquals(
    findFault({ freshness: 1 }),
    '"scoring_weights.freshness" is unknown; known are "semantic", ' +
      '"recency", "recency_half_life_days", "importance"',
  );
  assertEquals(
    findFault({ recency: 1, recency_half_life_days: 0 }),
    '"scoring_weights.recency_half_life_days" is below 0.000001',
  );
});

function readValue<T>(schema: Schema<T>, value: unknown): T | undefined {
  const read = readWhole(schema, value);
  return read.kind === "ok" ? read.value : undefined;
}

function fault(schema: Schema<unknown>, value: unknown): string | undefined {
  const read = readWhole(schema, value);
  const [first] = read.kind === "ok" ? [] : read.faults;
  return first && faultText(first);
}
