import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as reader from "./answer_reader.ts";
import { MemError } from "./errors.ts";

type Read = (json: unknown, member: string) => unknown;

const ROWS: readonly {
  readonly read: Read;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
  /** What an absent member and null are read as; undefined: not at all. */
  readonly absent?: { readonly value: unknown };
}[] = [
  { read: reader.readString, good: ["", "a"], bad: [1, {}, true] },
  { read: reader.readNonEmptyString, good: ["a"], bad: ["", 1] },
  {
    read: reader.readOptionalString,
    good: ["", "a"],
    bad: [1, []],
    absent: { value: undefined },
  },
  { read: reader.readNumber, good: [0, -1.5], bad: ["1", NaN, Infinity] },
  { read: reader.readCount, good: [0, 7], bad: [-1, 1.5, 2 ** 53, "1"] },
  {
    read: reader.readOptionalNumber,
    good: [0, 1.5],
    bad: ["1", NaN],
    absent: { value: undefined },
  },
  { read: reader.readBoolean, good: [true, false], bad: [0, "true"] },
  {
    read: reader.readOptionalBoolean,
    good: [true, false],
    bad: [0, "true"],
    absent: { value: undefined },
  },
  { read: reader.readArray, good: [[], [1, "a"]], bad: [{}, "a"] },
  {
    read: reader.readOptionalArray,
    good: [[], [1]],
    bad: [{}, "a"],
    absent: { value: undefined },
  },
  { read: reader.readStrings, good: [[], ["a"]], bad: [[1], ["a", null], "a"] },
  { read: reader.readNumbers, good: [[], [1]], bad: [["1"], [NaN], [null]] },
];

Deno.test("the readers return what is there when it is what it must be", () => {
  for (const { read, good } of ROWS) {
    for (const value of good) {
      assertEquals(read({ m: value }, "m"), value, read.name);
    }
  }
});

Deno.test("the readers name the member when it is something else", () => {
  for (const { read, bad, absent } of ROWS) {
    const faults = absent === undefined ? [...bad, null, undefined] : bad;
    for (const value of faults) {
      const error = assertThrows(
        () => read({ job_id: value }, "job_id"),
        MemError,
      );
      assertStringIncludes(error.message, '"job_id"', read.name);
    }
    for (const json of [undefined, null, "m", 1, [], [{ m: 1 }]]) {
      assertThrows(() => read(json, "m"), MemError);
    }
  }
});

Deno.test("the readers of what may be missing know null and nothing as missing", () => {
  for (const { read, absent } of ROWS) {
    if (absent === undefined) continue;
    for (const json of [{}, { m: null }, { m: undefined }]) {
      assertEquals(read(json, "m"), absent.value, read.name);
    }
  }
});

Deno.test("the readers do not take for a member what every object inherits", () => {
  assertEquals(reader.readOptionalString({}, "constructor"), undefined);
  assertEquals(reader.readOptionalString({}, "__proto__"), undefined);
});

Deno.test("omitUndefined() keeps all members but those that are undefined, in order", () => {
  const kept = reader.omitUndefined({ b: undefined, c: null, a: 0, d: "" });
  assertEquals(JSON.stringify(kept), '{"c":null,"a":0,"d":""}');
  assertEquals(Object.keys(kept), ["c", "a", "d"]);
});
