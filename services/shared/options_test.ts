import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  booleanOption,
  choiceOption,
  durationOption,
  inGroup,
  integerOption,
  listOption,
  numberOption,
  pairsOption,
  portOption,
  textOption,
} from "./options.ts";

const help = "";

Deno.test("textOption() takes any text, or only text of its form", () => {
  assertEquals(textOption({ help }).parse(" x "), " x ");
  const header = textOption({
    help,
    form: { matches: /^[\w-]+$/, expected: "a header name" },
  });
  assertEquals(header.parse("RateLimit-Limit"), "RateLimit-Limit");
  assertEquals(header.parse("a b"), undefined);
  assertEquals(header.expected, "a header name");
});

Deno.test("integerOption() takes decimal whole numbers within the bounds", () => {
  const option = integerOption({ help, min: -5, max: 100 });
  assertEquals(option.parse("42"), 42);
  assertEquals(option.parse("+7"), 7);
  assertEquals(option.parse("-5"), -5);
  assertStrictEquals(option.parse("-0"), 0);
  assertEquals(option.parse("100"), 100);
  const bad = ["101", "-6", "010", "0x10", "1e1", "1.0", "1_0", " 1", "", "+"];
  for (const text of bad) assertEquals(option.parse(text), undefined, text);
  assertEquals(option.expected, "a whole number from -5 to 100");
  assertEquals(integerOption({ help }).parse("9007199254740993"), undefined);
});

Deno.test("portOption() takes 0 to 65535", () => {
  const option = portOption({ help });
  assertEquals(option.parse("0"), 0);
  assertEquals(option.parse("65535"), 65535);
  for (const text of ["65536", "-1", "80x81", "http"]) {
    assertEquals(option.parse(text), undefined, text);
  }
});

Deno.test("numberOption() takes finite decimals within the bounds", () => {
  const option = numberOption({ help, min: 0, max: 1 });
  const good: readonly (readonly [string, number])[] = [
    ["0.8", 0.8],
    [".5", 0.5],
    ["1.", 1],
    ["5e-1", 0.5],
  ];
  for (const [text, value] of good) assertEquals(option.parse(text), value);
  for (const text of ["1.1", "-0.1", "NaN", "Infinity", "0x1", "", "."]) {
    assertEquals(option.parse(text), undefined, text);
  }
  assertEquals(numberOption({ help }).parse("1e999"), undefined);
  assertEquals(
    numberOption({ help, max: 2 }).expected,
    "a number of 2 or less",
  );
});

Deno.test("booleanOption() takes the twelve words of Go", () => {
  const option = booleanOption({ help });
  for (const word of ["1", "t", "T", "TRUE", "true", "True"]) {
    assertEquals(option.parse(word), true, word);
  }
  for (const word of ["0", "f", "F", "FALSE", "false", "False"]) {
    assertEquals(option.parse(word), false, word);
  }
  for (const word of ["yes", "on", "tRUE", "", " true"]) {
    assertEquals(option.parse(word), undefined, word);
  }
});

Deno.test("durationOption() gives milliseconds within the bounds", () => {
  const option = durationOption({ help, min: "1s", max: "1m" });
  assertEquals(option.parse("10s"), 10_000);
  assertEquals(option.parse("1m"), 60_000);
  assertEquals(option.parse("999ms"), undefined);
  assertEquals(option.parse("61s"), undefined);
  assertEquals(
    option.expected,
    "a duration such as 10s or 1h30m, from 1s to 1m",
  );
});

Deno.test("durationOption() refuses negative durations unless told", () => {
  assertEquals(durationOption({ help }).parse("0"), 0);
  assertEquals(durationOption({ help }).parse("-1s"), undefined);
  assertEquals(durationOption({ help, min: "-1s" }).parse("-1s"), -1000);
  assertEquals(
    durationOption({ help }).expected,
    "a duration such as 10s or 1h30m",
  );
});

Deno.test("durationOption() throws when a bound is no duration", () => {
  assertThrows(
    () => durationOption({ help, max: "1 day" }),
    TypeError,
    '"1 day"',
  );
});

Deno.test("choiceOption() gives what the word stands for", () => {
  const option = choiceOption({
    help,
    values: { kvstore: "kv", redis: "kv", memory: "mem" },
    default: "kv",
  });
  assertEquals(option.parse("redis"), "kv");
  assertEquals(option.parse("Redis"), undefined);
  assertEquals(option.parse("constructor"), undefined);
  assertEquals(option.parse("__proto__"), undefined);
  assertEquals(option.defaultText, "kvstore");
  assertEquals(option.expected, "one of kvstore, redis, memory");
});

Deno.test("choiceOption() ignores case when told", () => {
  const option = choiceOption({
    help,
    values: { SINGLE: "single" },
    ignoreCase: true,
  });
  assertEquals(option.parse("sInGlE"), "single");
});

Deno.test("listOption() splits at commas and refuses empty items", () => {
  const option = listOption({ help });
  assertEquals(option.parse("a:1, b:2"), ["a:1", "b:2"]);
  assertEquals(option.parse("one"), ["one"]);
  for (const text of ["a,", ",a", "a,,b", " "]) {
    assertEquals(option.parse(text), undefined, text);
  }
});

Deno.test("pairsOption() splits at the first separator", () => {
  assertEquals(pairsOption({ help }).parse("k1:v1, k2 : a:b,k3:"), [
    ["k1", "v1"],
    ["k2", "a:b"],
    ["k3", ""],
  ]);
  assertEquals(pairsOption({ help, separator: "=" }).parse("a=b:c"), [[
    "a",
    "b:c",
  ]]);
  for (const text of ["k1", ":v", "a:b,", "a:b,c"]) {
    assertEquals(pairsOption({ help }).parse(text), undefined, text);
  }
});

Deno.test("every kind reads what it writes", () => {
  const pairs = [["a", "b"], ["c", "d"]] as const;
  const kinds = [
    [portOption({ help, default: 8081 }), 8081],
    [numberOption({ help, default: 0.1 }), 0.1],
    [booleanOption({ help, default: true }), true],
    [pairsOption({ help, default: pairs }), pairs],
    [listOption({ help, default: ["a", "b"] }), ["a", "b"]],
  ] as const;
  for (const [option, value] of kinds) {
    assertEquals(option.parse(option.defaultText ?? ""), value);
  }
});

Deno.test("inGroup() puts options under one heading and leaves the rest of them", () => {
  const table = inGroup("Storage", {
    folder: textOption({ name: "FOLDER", default: "x", help: "Where." }),
    bytes: integerOption({ name: "BYTES", group: "Other", help: "How many." }),
  });
  assertEquals(Object.keys(table), ["folder", "bytes"]);
  assertEquals([table.folder.group, table.bytes.group], ["Storage", "Storage"]);
  assertEquals(table.folder.fallback, "x");
  assertEquals(table.bytes.parse("12"), 12);
});
