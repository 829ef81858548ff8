import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../proto/struct.ts";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { dynamicMetadata } from "./dynamic_metadata.ts";

Deno.test("dynamicMetadata() merges maps, lets the first win and changes no rule", () => {
  const first: JsonObject = { a: 1, deep: { x: 1, list: [1] } };
  const second: JsonObject = { a: 2, b: 2, deep: { x: 2, y: { z: 3 } } };
  const before = JSON.stringify([first, second]);
  assertEquals(
    dynamicMetadata({ domain: "d" }, {
      rules: [first, second],
      limits: [],
    }),
    {
      domain: "d",
      metadata: { a: 1, deep: { x: 1, list: [1], y: { z: 3 } }, b: 2 },
    },
  );
  assertEquals(JSON.stringify([first, second]), before);
});

Deno.test("dynamicMetadata() keeps a name like __proto__ for a name", () => {
  const rule = JSON.parse('{"__proto__": {"polluted": true}}') as JsonObject;
  const { metadata } = dynamicMetadata({}, {
    rules: [rule, rule, { a: 1 }],
    limits: [],
  });
  assertEquals(
    JSON.stringify(metadata),
    '{"__proto__":{"polluted":true},"a":1}',
  );
  assertEquals("polluted" in {}, false);
});

Deno.test("dynamicMetadata() takes a time that grows with the number of rules", async () => {
  const merge = (length: number) => {
    const rules = Array.from(
      { length },
      (_, index): JsonObject => ({ [`name${index}`]: index }),
    );
    return () => dynamicMetadata({}, { rules, limits: [] });
  };
  // It would take sixteen times as long if each step copied what is there.
  await assertGrowth({ small: merge(1_000), large: merge(4_000), atMost: 8 });
});
