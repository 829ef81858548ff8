import { assert, assertEquals } from "@std/assert";
import { Scrubber } from "../secrets/scrub.ts";
import {
  copyBeginning,
  EmbeddedJson,
  keptResult,
  MAX_RESULT_BYTES,
} from "./stored_json.ts";

function countBytes(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

Deno.test("keptResult() keeps a result as it is", () => {
  assertEquals(keptResult({ a: [1, "x"] }), { resultJson: '{"a":[1,"x"]}' });
  assertEquals(keptResult(undefined), { resultJson: "null" });
  assertEquals(keptResult("half", { isTruncated: true }), {
    resultJson: '"half"',
    isResultTruncated: true,
  });
});

Deno.test("keptResult() keeps all that fits, to the byte", () => {
  const fits = "x".repeat(MAX_RESULT_BYTES - 2);
  assertEquals(keptResult(fits), { resultJson: `"${fits}"` });
  assertEquals(keptResult(`${fits}x`).isResultTruncated, true);
  const wide = "é".repeat((MAX_RESULT_BYTES - 2) / 2);
  assertEquals(keptResult(wide), { resultJson: `"${wide}"` });
  assertEquals(keptResult(`${wide}é`).isResultTruncated, true);
});

Deno.test("keptResult() keeps the beginning of what is too long, as valid JSON", () => {
  for (const unit of ["x", "é", "漢", "😀", '"', "\\", "\u0001", "\ud800"]) {
    for (const pad of ["", "a"]) {
      const long = pad + unit.repeat(70_000);
      const { resultJson, isResultTruncated } = keptResult(long);
      assertEquals(isResultTruncated, true);
      assert(countBytes(resultJson) <= MAX_RESULT_BYTES);
      const text: string = JSON.parse(resultJson);
      assert(text.isWellFormed());
      assert(text.length > 4_000);
      const begin = text.slice(0, -1);
      assert(long.toWellFormed().startsWith(begin));
    }
  }
});

Deno.test("keptResult() keeps the longest beginning that fits", () => {
  for (const unit of ["x", "é", "漢", "😀", '"', "\u0001"]) {
    for (const pad of ["", "a", "aa", "aaa"]) {
      const long = pad + unit.repeat(70_000);
      const { resultJson } = keptResult(long);
      const text: string = JSON.parse(resultJson);
      const more = long.slice(0, text.length + unit.length);
      assertEquals(long.startsWith(text), true);
      assert(countBytes(JSON.stringify(more)) > MAX_RESULT_BYTES);
    }
  }
  const body = "x".repeat(MAX_RESULT_BYTES);
  const { resultJson } = keptResult(body, { isTruncated: true });
  assertEquals(countBytes(resultJson), MAX_RESULT_BYTES);
});

Deno.test("keptResult() keeps the beginning of a long object's text", () => {
  const { resultJson } = keptResult({ list: new Array(50_000).fill(1) });
  assert(JSON.parse(resultJson).startsWith('{"list":[1,1,1'));
});

Deno.test("keptResult() takes secrets out before it cuts", () => {
  const scrubber = new Scrubber([{ name: "KEY", value: "hunter2hunter2" }]);
  const { resultJson } = keptResult({ a: "it is hunter2hunter2!" }, {
    scrubber,
  });
  assertEquals(resultJson.includes("hunter2"), false);
  const atTheEdge = "x".repeat(MAX_RESULT_BYTES - 8) + "hunter2hunter2";
  const cut = keptResult(atTheEdge, { scrubber });
  assertEquals(cut.resultJson.includes("hunt"), false);
});

Deno.test("keptResult() takes the beginning of a secret out of what was cut", () => {
  const scrubber = new Scrubber([{ name: "KEY", value: "hunter2hunter2" }]);
  assertEquals(keptResult("it is hunter2", { scrubber, isTruncated: true }), {
    resultJson: '"it is [secret KEY]"',
    isResultTruncated: true,
  });
  assertEquals(keptResult("it is hunter2", { scrubber }), {
    resultJson: '"it is hunter2"',
  });
});

Deno.test("copyBeginning() gives all of what is short, and the same beginning of what is long", () => {
  const value = { a: [1, { b: "xyz" }, []], __proto: null, c: "long text" };
  const text = JSON.stringify(value);
  assertEquals(copyBeginning(value, { maxChars: 1_000 }), {
    value,
    isCut: false,
  });
  for (let maxChars = 0; maxChars < 40; maxChars++) {
    const { value: cut, isCut } = copyBeginning(value, { maxChars });
    assert(isCut, String(maxChars));
    // The texts are equal up to the cut, and then the brackets close.
    const begin = JSON.stringify(cut);
    const same = [...text].findIndex((char, at) => begin[at] !== char);
    assert(
      same >= Math.min(maxChars, text.length) - 12,
      `${maxChars}: ${begin}`,
    );
    assert(begin.length <= maxChars + 40, begin);
  }
});

Deno.test("copyBeginning() looks at no more of a list than it gives", () => {
  let looks = 0;
  const list = new Proxy(new Array(1_000_000).fill("x"), {
    get(target, name) {
      looks++;
      return Reflect.get(target, name);
    },
  });
  assert(copyBeginning(list, { maxChars: 300 }).isCut);
  assert(looks < 500, String(looks));
});

const LONG = JSON.stringify({ list: Array.from({ length: 2_000 }, () => []) });

Deno.test("EmbeddedJson.stringify() writes what JSON.stringify() writes of the parsed texts", () => {
  const embedded = new EmbeddedJson();
  const string = JSON.stringify('"\\$&'.repeat(1_000));
  const value = [
    embedded.place("[1]"),
    { a: embedded.place(LONG), b: [embedded.place(string)], c: "x" },
    embedded.place(LONG),
  ];
  assertEquals(
    embedded.stringify(value),
    `[[1],{"a":${LONG},"b":[${string}],"c":"x"},${LONG}]`,
  );
  assertEquals(embedded.stringify({ a: 1 }), '{"a":1}');
});

Deno.test("EmbeddedJson.stringify() writes each text wherever its place is, or nowhere", () => {
  const embedded = new EmbeddedJson();
  const place = embedded.place(LONG);
  embedded.place(LONG.replace("list", "other"));
  assertEquals(embedded.stringify([place, place]), `[${LONG},${LONG}]`);
});
