import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { writeJson } from "./json_writer.ts";

Deno.test("writeJson() writes what JSON.stringify() writes, and gives way on the way", async () => {
  const random = new SeededRandom(41);
  const draw = (depth: number): unknown => {
    if (depth === 0 || random.chance(0.2)) {
      return random.pick([
        0,
        -1.5e30,
        'é\ud800"\n',
        null,
        true,
        "x".repeat(9_000),
      ]);
    }
    const items = random.list(16, () => draw(depth - 1));
    return random.chance(0.5) ? items : JSON.parse(
      `{${
        items.map((item, at) =>
          `"${random.pick(["a", "7", "__proto__", `k${at}`])}":${
            JSON.stringify(item)
          }`
        ).join(",")
      }}`,
    );
  };
  let pauses = 0;
  for (let round = 0; round < 40; round++) {
    const value = draw(4);
    const text = await writeJson(value, {
      pause() {
        pauses++;
        return random.chance(0.5) ? undefined : Promise.resolve();
      },
    });
    assertEquals(text, JSON.stringify(value));
  }
  assert(pauses > 40, String(pauses));
});

Deno.test("writeJson() writes about as much between two pauses whatever the shape", async () => {
  const nest = (depth: number, inner: unknown): unknown =>
    depth === 0 ? inner : { a: nest(depth - 1, inner) };
  const many = Array.from({ length: 50_000 }, () => []);
  const members = Object.fromEntries(many.map((_, at) => [`k${at}`, 0]));
  for (const value of [many, members, nest(50, many), nest(50, members)]) {
    let pauses = 0;
    await writeJson(value, {
      pause() {
        pauses++;
        return undefined;
      },
    });
    assert(pauses >= 48, String(pauses));
  }
});
