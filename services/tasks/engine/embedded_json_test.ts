import { assertEquals } from "@std/assert";
import { EmbeddedJson } from "./embedded_json.ts";

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
