import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  booleanParser,
  choiceParser,
  durationParser,
  integerParser,
  listParser,
  numberParser,
  pairsParser,
  portParser,
  textParser,
} from "./value_parsers.ts";

Deno.test("textParser() takes any text, or only text of its form", () => {
  assertEquals(textParser().parse(" x "), " x ");
  const header = textParser({ matches: /^[\w-]+$/, expected: "a header name" });
  assertEquals(header.parse("RateLimit-Limit"), "RateLimit-Limit");
  assertEquals(header.parse("a b"), undefined);
  assertEquals(header.expected, "a header name");
});

Deno.test("integerParser() takes decimal whole numbers within the bounds", () => {
  const parser = integerParser({ min: -5, max: 100 });
  assertEquals(parser.parse("42"), 42);
  assertEquals(parser.parse("+7"), 7);
  assertEquals(parser.parse("-5"), -5);
  assertStrictEquals(parser.parse("-0"), 0);
  assertEquals(parser.parse("100"), 100);
  const bad = ["101", "-6", "010", "0x10", "1e1", "1.0", "1_0", " 1", "", "+"];
  for (const text of bad) assertEquals(parser.parse(text), undefined, text);
  assertEquals(parser.expected, "a whole number from -5 to 100");
  assertEquals(integerParser().parse("9007199254740993"), undefined);
});

Deno.test("portParser() takes 0 to 65535", () => {
  const parser = portParser();
  assertEquals(parser.parse("0"), 0);
  assertEquals(parser.parse("65535"), 65535);
  for (const text of ["65536", "-1", "80x81", "http"]) {
    assertEquals(parser.parse(text), undefined, text);
  }
});

Deno.test("numberParser() takes finite decimals within the bounds", () => {
  const parser = numberParser({ min: 0, max: 1 });
  const good: readonly (readonly [string, number])[] = [
    ["0.8", 0.8],
    [".5", 0.5],
    ["1.", 1],
    ["5e-1", 0.5],
  ];
  for (const [text, value] of good) assertEquals(parser.parse(text), value);
  for (const text of ["1.1", "-0.1", "NaN", "Infinity", "0x1", "", "."]) {
    assertEquals(parser.parse(text), undefined, text);
  }
  assertEquals(numberParser().parse("1e999"), undefined);
  assertEquals(numberParser({ max: 2 }).expected, "a number of 2 or less");
});

Deno.test("booleanParser() takes the twelve words of Go", () => {
  const parser = booleanParser();
  for (const word of ["1", "t", "T", "TRUE", "true", "True"]) {
    assertEquals(parser.parse(word), true, word);
  }
  for (const word of ["0", "f", "F", "FALSE", "false", "False"]) {
    assertEquals(parser.parse(word), false, word);
  }
  for (const word of ["yes", "on", "tRUE", "", " true"]) {
    assertEquals(parser.parse(word), undefined, word);
  }
});

Deno.test("durationParser() gives milliseconds within the bounds", () => {
  const parser = durationParser({ min: "1s", max: "1m" });
  assertEquals(parser.parse("10s"), 10_000);
  assertEquals(parser.parse("1m"), 60_000);
  assertEquals(parser.parse("999ms"), undefined);
  assertEquals(parser.parse("61s"), undefined);
  assertEquals(
    parser.expected,
    "a duration such as 10s or 1h30m, from 1s to 1m",
  );
});

Deno.test("durationParser() refuses negative durations unless told", () => {
  assertEquals(durationParser().parse("0"), 0);
  assertEquals(durationParser().parse("-1s"), undefined);
  assertEquals(durationParser({ min: "-1s" }).parse("-1s"), -1000);
  assertEquals(durationParser().expected, "a duration such as 10s or 1h30m");
});

Deno.test("durationParser() throws when a bound is no duration", () => {
  assertThrows(() => durationParser({ max: "1 day" }), TypeError, '"1 day"');
});

Deno.test("choiceParser() gives what the word stands for", () => {
  const parser = choiceParser({ kvstore: "kv", redis: "kv", memory: "mem" });
  assertEquals(parser.parse("redis"), "kv");
  assertEquals(parser.parse("Redis"), undefined);
  assertEquals(parser.parse("constructor"), undefined);
  assertEquals(parser.parse("__proto__"), undefined);
  assertEquals(parser.format("kv"), "kvstore");
  assertEquals(parser.expected, "one of kvstore, redis, memory");
});

Deno.test("choiceParser() ignores case when told", () => {
  const parser = choiceParser({ SINGLE: "single" }, { ignoreCase: true });
  assertEquals(parser.parse("sInGlE"), "single");
});

Deno.test("listParser() splits at commas and refuses empty items", () => {
  const parser = listParser();
  assertEquals(parser.parse("a:1, b:2"), ["a:1", "b:2"]);
  assertEquals(parser.parse("one"), ["one"]);
  for (const text of ["a,", ",a", "a,,b", " "]) {
    assertEquals(parser.parse(text), undefined, text);
  }
});

Deno.test("pairsParser() splits at the first separator", () => {
  assertEquals(pairsParser().parse("k1:v1, k2 : a:b,k3:"), [
    ["k1", "v1"],
    ["k2", "a:b"],
    ["k3", ""],
  ]);
  assertEquals(pairsParser({ separator: "=" }).parse("a=b:c"), [["a", "b:c"]]);
  for (const text of ["k1", ":v", "a:b,", "a:b,c"]) {
    assertEquals(pairsParser().parse(text), undefined, text);
  }
});

Deno.test("every parser reads what it writes", () => {
  assertEquals(portParser().parse(portParser().format(8081)), 8081);
  assertEquals(numberParser().parse(numberParser().format(0.1)), 0.1);
  assertEquals(booleanParser().parse(booleanParser().format(true)), true);
  const pairs = [["a", "b"], ["c", "d"]] as const;
  assertEquals(pairsParser().parse(pairsParser().format(pairs)), pairs);
  assertEquals(listParser().parse(listParser().format(["a", "b"])), ["a", "b"]);
});
