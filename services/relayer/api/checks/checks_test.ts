import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { type Checked, fields, list, optional } from "./check.ts";
import { metadata, namespace, orderingChecks } from "./memory_checks.ts";
import {
  cappedPositive,
  clampedCount,
  instant,
  number,
  unitVector,
} from "./number_checks.ts";
import { base64, recordId, shortName, text, word } from "./text_checks.ts";

Deno.test("fields() names members within members", () => {
  const check = fields({ outer: list(fields({ inner: text(5) }), SPAN) });
  assertEquals(check({ outer: [{ inner: "a" }, { inner: "" }] }, ""), {
    kind: "bad",
    fault: '"outer[1].inner" is blank',
  });
});

Deno.test("fields() quotes names so that they end no line", () => {
  const checked = metadata({ "a\nb": 1 }, "metadata");
  assert(checked.kind === "bad");
  assertEquals(checked.fault.includes("\n"), false);
});

Deno.test("optional() takes nothing and null for undefined", () => {
  const check = optional(text(5));
  assertEquals(check(undefined, "a"), { kind: "ok", value: undefined });
  assertEquals(check(null, "a"), { kind: "ok", value: undefined });
  assertEquals(check("", "a").kind, "bad");
});

Deno.test("text() counts bytes of UTF-8, not characters", () => {
  assertEquals(text(4)("😀", "t").kind, "ok");
  assertEquals(text(3)("😀", "t").kind, "bad");
  assertEquals(text(6)("äöü", "t").kind, "ok");
  assertEquals(text(5)("äöü", "t").kind, "bad");
});

Deno.test("text() keeps a text as it is", () => {
  const odd = " \u0000tea\ufeff\u200b ";
  assertEquals(text(100)(odd, "t"), { kind: "ok", value: odd });
});

Deno.test("shortName() takes 1 to 255 bytes without control characters", () => {
  for (const name of ["a", "x".repeat(255), "ü".repeat(127), "a b/c.d"]) {
    assertEquals(shortName(name, "n").kind, "ok", name);
  }
  for (
    const name of ["", "x".repeat(256), "ü".repeat(128), "a\tb", "\u0085x"]
  ) {
    assertEquals(shortName(name, "n").kind, "bad", name);
  }
  assertEquals(namespace(undefined, "n"), { kind: "ok", value: "default" });
});

Deno.test("recordId() takes letters, digits, _ and -, at most 64", () => {
  for (const id of ["a", "A_-9", "x".repeat(64)]) {
    assertEquals(recordId(id, "id").kind, "ok", id);
  }
  for (const id of ["", "a.b", "a/b", "ä", "x".repeat(65), "a\n", 5, null]) {
    assertEquals(recordId(id, "id").kind, "bad", `${id}`);
  }
});

Deno.test("word() lists what it takes", () => {
  assertEquals(word(["a", "b"])("c", "w"), {
    kind: "bad",
    fault: '"w" is none of "a", "b"',
  });
});

Deno.test("base64() gives back any bytes", () => {
  const random = new SeededRandom(9);
  for (let round = 0; round < 200; round++) {
    const bytes = Uint8Array.from(
      { length: 1 + random.below(50) },
      () => random.below(256),
    );
    assertEquals(valueOf(base64(bytes.toBase64(), "b")), bytes);
  }
});

Deno.test("number() takes numbers of its span alone", () => {
  const check = number({ min: 0, max: 1 });
  for (const value of [0, 0.5, 1]) assertEquals(check(value, "n").kind, "ok");
  for (const value of [-0.001, 1.001, NaN, Infinity, "0.5", null, undefined]) {
    assertEquals(check(value, "n").kind, "bad", `${value}`);
  }
});

Deno.test("clampedCount() and cappedPositive() move values into their span", () => {
  const clamp = clampedCount({ min: 1, max: 9 });
  assertEquals([-5, 0, 4, 1e9].map((value) => valueOf(clamp(value, "n"))), [
    1,
    1,
    4,
    9,
  ]);
  assertEquals(clamp(Infinity, "n").kind, "bad");
  const cap = cappedPositive(9);
  assertEquals([0.5, 9, Infinity].map((value) => valueOf(cap(value, "n"))), [
    0.5,
    9,
    9,
  ]);
  assertEquals(cap(NaN, "n").kind, "bad");
});

Deno.test("unitVector() keeps the direction and makes the length 1", () => {
  const random = new SeededRandom(4);
  for (let round = 0; round < 200; round++) {
    const scale = 10 ** (random.below(600) - 300);
    const given = [1, 2, 3].map(() => (random.below(2_001) - 1_000) * scale);
    if (given.every((number) => number === 0)) continue;
    const vector = unitVector(3)(given, "v");
    assert(vector.kind === "ok");
    assertAlmostEquals(Math.hypot(...vector.value), 1, 1e-6);
    const largest = Math.max(...given.map(Math.abs));
    const most = Math.max(...vector.value.map(Math.abs));
    for (const [place, number] of given.entries()) {
      assertAlmostEquals(
        (vector.value[place] ?? NaN) / most,
        number / largest,
        1e-5,
      );
    }
  }
});

Deno.test("instant() reads RFC 3339 and refuses days that there are not", () => {
  const good = [
    ["2030-01-31T12:00:00Z", Date.UTC(2030, 0, 31, 12)],
    ["2030-01-31t12:00:00.123456z", Date.UTC(2030, 0, 31, 12, 0, 0, 123)],
    ["2028-02-29T00:00:00-01:30", Date.UTC(2028, 1, 29, 1, 30)],
  ] as const;
  for (const [value, ms] of good) {
    assertEquals(instant(value, "t"), { kind: "ok", value: ms }, value);
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
    assertEquals(instant(value, "t").kind, "bad", `${value}`);
  }
});

const SPAN = { minItems: 1, maxItems: 5 };

function valueOf<T>(checked: Checked<T>): T | undefined {
  return checked.kind === "ok" ? checked.value : undefined;
}

Deno.test("orderingChecks names an unknown weight and the one that was probably meant", () => {
  const faultOf = (weights: Readonly<Record<string, unknown>>) => {
    const checked = orderingChecks.scoring_weights(weights, "scoring_weights");
    return checked.kind === "bad" ? checked.fault : undefined;
  };
  assertEquals(faultOf({ semantic: 1, recency: 0.5 }), undefined);
  assertEquals(
    faultOf({ semantic: 1, recencyHalfLifeDays: 3 }),
    '"scoring_weights" has no member "recencyHalfLifeDays"; did you mean ' +
      '"recency_half_life_days"?',
  );
  assertEquals(
    faultOf({ freshness: 1 }),
    '"scoring_weights" has no member "freshness", but "semantic", "recency", ' +
      '"recency_half_life_days", "importance"',
  );
});
