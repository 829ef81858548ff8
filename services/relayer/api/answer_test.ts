import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { bodyBytes, ok, renderAnswer, renderInSlices } from "./answer.ts";

Deno.test("renderInSlices() gives the bytes that JSON.stringify() gives", async () => {
  const random = new SeededRandom(3);
  const texts = ["", "tea", '"\\\u0001', "é😀", "\ud800", "x".repeat(40_000)];
  const values: unknown[] = [
    {},
    { a: undefined },
    { results: [], total: 0 },
    { a: [undefined, null, 1], b: undefined, c: { d: [1, 2] } },
    { vector: [1.5, -2e-7, 3] },
    [1, 2],
    null,
    "text",
  ];
  for (let round = 0; round < 50; round++) {
    values.push({
      results: Array.from({ length: random.below(9) }, () => ({
        text: random.pick(texts),
        distance: random.next(),
        score: random.chance(0.5) ? 1 : undefined,
      })),
      total: round,
      [random.pick(texts)]: random.pick(texts),
    });
  }
  for (const json of values) {
    const { body = "", ...head } = await renderInSlices(
      ok(json),
      NEVER_PAUSING,
    );
    const text = typeof body === "string"
      ? body
      : new TextDecoder("utf-8", { fatal: true }).decode(body);
    assertEquals(text, JSON.stringify(json));
    const { body: _body, ...plain } = renderAnswer(ok(json));
    assertEquals(head, plain);
    assertEquals(
      bodyBytes({ ...head, body }),
      new TextEncoder().encode(text).length,
    );
  }
});

Deno.test("renderInSlices() asks for a pause after each piece of a long answer", async () => {
  const text = "x".repeat(10_000);
  const results = Array.from({ length: 100 }, () => ({ text }));
  let asks = 0;
  const pausing = { pause: () => void asks++ };
  const { body } = await renderInSlices(ok({ results }), pausing);
  assert(body instanceof Uint8Array);
  // A slice ends once it has 65,536 characters, which takes seven results.
  assertEquals(asks, Math.floor(100 / 7));
  asks = 0;
  const short = await renderInSlices(ok({ results: [{ text }] }), pausing);
  assertEquals([typeof short.body, asks], ["string", 0]);
});
