import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { readJsonText } from "./json_reader.ts";
import { jsonSyntaxFault } from "./json_syntax.ts";

const LIMITS = { maxDepth: 64, maxValues: 1_000_000 };

Deno.test("readJsonText() gives what JSON.parse() gives when it reads in small pieces", async () => {
  const random = new SeededRandom(31);
  for (let round = 0; round < 3_000; round++) {
    const text = drawnJson(random, 1 + random.below(6));
    const outcome = await readInPieces(text, 1 + random.below(5));
    assert(outcome.kind === "ok", text);
    const expected: unknown = JSON.parse(text);
    assertEquals(outcome.value, expected, text);
    // As texts, so that the order of members and "__proto__" are compared as
    // well.
    assertEquals(JSON.stringify(outcome.value), JSON.stringify(expected), text);
  }
});

Deno.test("readJsonText() refuses what JSON.parse() refuses, at the same place, when it reads in small pieces", async () => {
  const random = new SeededRandom(32);
  const pieces = [..."[]{},:  \n", '"a"', '"a":', "1", "-", "e5", '"', "\\"];
  let bad = 0;
  for (let round = 0; round < 20_000; round++) {
    const good = drawnJson(random, 1 + random.below(5));
    const cut = random.below(good.length + 1);
    const text = good.slice(0, cut) + random.pick(pieces) +
      good.slice(cut + random.below(2));
    const outcome = await readInPieces(text, 1 + random.below(4));
    const fault = jsonSyntaxFault(text);
    // The change may have made a number infinite, which is refused.
    if (outcome.kind === "refused") continue;
    if (fault === undefined) {
      assert(outcome.kind === "ok", text);
      continue;
    }
    bad++;
    assert(outcome.kind === "malformed", text);
    const before = toBytes(text).subarray(0, outcome.from.at);
    const at = new TextDecoder().decode(before).length;
    assertEquals(jsonSyntaxFault(text, { ...outcome.from, at }), fault, text);
  }
  assert(bad > 10_000, `${bad} bad`);
});

Deno.test("readJsonText() gives way after each piece, of whatever shape the text is", async () => {
  for (
    const item of ["[]", "{}", '{"a":[{}]}', "0", '"x"', '"\\ud800"', "1e20"]
  ) {
    const items = 20_000;
    const text = `[${`${item},`.repeat(items - 1)}${item}]`;
    let pauses = 0;
    const outcome = await readJsonText(toBytes(text), {
      limits: LIMITS,
      pausing: {
        pause() {
          pauses++;
          return Promise.resolve();
        },
      },
    });
    assertEquals(outcome, { kind: "ok", value: JSON.parse(text) });
    // A piece has about 512 values, and each item has at least one.
    assert(pauses >= items / 512 - 1, `${item}: ${pauses}`);
  }
});

Deno.test("readJsonText() makes an object of any number of members in pieces", async () => {
  const members = Array.from({ length: 5_000 }, (_, n) => `"k${n}":{"n":${n}}`);
  const text = `{"a":{${members.join(",")}},"b":1}`;
  let pauses = 0;
  const outcome = await readJsonText(toBytes(text), {
    limits: LIMITS,
    pausing: {
      pause() {
        pauses++;
        return undefined;
      },
    },
  });
  assertEquals(outcome, { kind: "ok", value: JSON.parse(text) });
  assert(pauses > 10, String(pauses));
});

function readInPieces(text: string, pieceValues: number) {
  return Promise.resolve<Awaited<ReturnType<typeof readJsonText>>>(
    readJsonText(toBytes(text), { limits: LIMITS, pieceValues, shortBytes: 0 }),
  );
}

/** A random text with blanks, duplicate names and names that are numbers. */
function drawnJson(random: SeededRandom, depth: number): string {
  const blank = (): string => random.pick(["", "", "", " ", "\n"]);
  const draw = (left: number): string => {
    if (left === 0 || random.next() < 0.3) {
      return random.pick([
        ...["1", "-0.5e3", "true", "null", '""', '"a,]}[{"', '"\\\\"'],
        ...['"\\""', '"é\\ud800"', "12345678901234567890", "1e308", "false"],
      ]);
    }
    const items = random.list(5, () => blank() + draw(left - 1) + blank());
    if (random.next() < 0.5) return `[${items.join(",") || blank()}]`;
    const names = [
      '"a"',
      '"b"',
      '"7"',
      '"3"',
      '"__proto__"',
      '"\\u0061"',
      '""',
    ];
    return `{${
      items.map((item) => `${blank()}${random.pick(names)}${blank()}:${item}`)
        .join(",") || blank()
    }}`;
  };
  return blank() + draw(depth) + blank();
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
