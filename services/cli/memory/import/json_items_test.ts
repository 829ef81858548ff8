import { assertEquals, assertRejects } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { detectShape, type JsonShape, readJsonItems } from "./json_items.ts";

async function* inChunks(
  text: string,
  size: number,
): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) {
    yield bytes.subarray(at, at + size);
  }
}

async function itemsOf(
  text: string,
  options: { shape: JsonShape; maxItemBytes?: number; size?: number },
): Promise<readonly unknown[]> {
  const { size = 7, ...rest } = options;
  return await Array.fromAsync(readJsonItems(inChunks(text, size), rest));
}

/** Makes a value of JSON that has what could be taken for a bracket's end. */
function anyValue(random: SeededRandom, depth: number): unknown {
  switch (random.below(depth > 3 ? 3 : 5)) {
    case 0:
      return random.pick(['"', "\\", '\\"', "]}", "[{", "ä\n", "\u2028", ""]);
    case 1:
      return random.next() * 1e6;
    case 2:
      return random.chance(0.5) ? null : true;
    case 3:
      return random.list(3, () => anyValue(random, depth + 1));
    default:
      return anyObject(random, depth + 1);
  }
}

function anyObject(random: SeededRandom, depth = 0): Record<string, unknown> {
  return Object.fromEntries(
    random.list(4, () => [`${random.below(9)}"]{`, anyValue(random, depth)]),
  );
}

Deno.test("readJsonItems() gives what JSON.parse() gives, whatever the chunks are", async () => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 200; round++) {
    const items = random.list(5, () => anyObject(random));
    const indent = random.chance(0.5) ? 2 : 0;
    const size = 1 + random.below(20);
    const texts: Readonly<Record<JsonShape, string>> = {
      list: JSON.stringify(items, null, indent),
      lines: items.map((item) => JSON.stringify(item)).join("\n"),
      wrapped: JSON.stringify({ a: { b: [1, "{"] }, c: items }, null, indent),
    };
    for (const shape of ["list", "lines", "wrapped"] as const) {
      assertEquals(await itemsOf(texts[shape], { shape, size }), items);
    }
  }
});

Deno.test("readJsonItems() says what is wrong, without the text", async () => {
  const cases = [
    ['[{"secret": 1}, {"secret"', "item 2", "cut off"],
    ["[{]", "item 1", "do not fit"],
    ["[{secret}]", "item 1", "is not JSON"],
    ['[{"a": "secret', "item 1", "cut off"],
    [`[{"a": "${"x".repeat(2_000)}"}]`, "item 1", "more than 1000 bytes"],
    [`[{"a": ${"[".repeat(300)}`, "item 1", "deep"],
  ] as const;
  for (const [text, ...told] of cases) {
    const error = await assertRejects(
      () => itemsOf(text, { shape: "list", maxItemBytes: 1_000 }),
      SyntaxError,
    );
    for (const word of told) assertEquals(error.message.includes(word), true);
    assertEquals(error.message.includes("secret"), false);
  }
});

Deno.test("detectShape() tells lists, lines and wrapped lists apart", () => {
  const isRecord = (value: unknown) => "text" in Object(value);
  const cases: readonly (readonly [string, JsonShape | undefined])[] = [
    ["[", "list"],
    ["\ufeff \n[{", "list"],
    ['{"text": "a"}\n{"text"', "lines"],
    ['{"results": []}', "wrapped"],
    ['{\n  "results": [', "wrapped"],
    ['{"uuid": "1", "chat_messages": [{"uu', "lines"],
    ['{"conversations": [{"uuid": "1", "chat_messages": [', "wrapped"],
    ['{"title": "a", "mapping": {"1": {"children": [', "lines"],
    ["PK\u0003\u0004", undefined],
    ["", undefined],
    ["# Notes", undefined],
  ];
  for (const [head, shape] of cases) {
    assertEquals(detectShape(head, isRecord), shape, head);
  }
});
