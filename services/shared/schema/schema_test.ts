import { assert, assertEquals, assertThrows } from "@std/assert";
import { countRounds } from "../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { list, nullable, oneOf, record } from "./composite.ts";
import {
  described,
  mergeDefinitions,
  named,
  readWhole,
  type Schema,
} from "./schema.ts";
import {
  boolean,
  choice,
  integer,
  literal,
  number,
  ONE_LINE,
  text,
} from "./values.ts";
import { object, optional, withDefault } from "./object.ts";
import { anyJson } from "./json_value.ts";
import { misfits } from "./testing/json_schema_check.ts";

const WORDS = [
  "",
  "a",
  "todo",
  "idea",
  "name",
  "size",
  "😀😀",
  "line\nend",
  "__proto__",
  "constructor",
  "a/b~c",
];

const NUMBERS = [0, 1, -1, 3, 2.5, 1e21, -0, Number.MAX_SAFE_INTEGER];

Deno.test("read() takes exactly what the JSON Schema takes, whatever schema and value", () => {
  const random = new SeededRandom(4);
  let good = 0;
  let bad = 0;
  const rounds = countRounds(2_000);
  for (let round = 0; round < rounds; round++) {
    const schema = drawSchema(random, 3);
    const value = drawValue(random, 3);
    const outcome = readWhole(schema, value);
    const found = misfits(value, schema);
    assertEquals(
      outcome.kind,
      found.length === 0 ? "ok" : "invalid",
      JSON.stringify([schema.json, value, found, outcome]),
    );
    if (outcome.kind === "ok") good++;
    else {
      bad++;
      assert(outcome.faults.length > 0);
      for (const { pointer } of outcome.faults) assertPointer(pointer, value);
    }
  }
  const least = rounds / 12;
  assert(good > least && bad > least, `${good} good and ${bad} bad`);
});

Deno.test("mergeDefinitions() throws when two schemas have one name", () => {
  const one = named("Note", object({ title: text() }));
  const other = named("Note", object({ name: text() }));
  assertThrows(
    () => mergeDefinitions([one, other]),
    TypeError,
    'Cannot name schema "Note": another one has that name',
  );
  assertEquals(
    [...mergeDefinitions([one, one]).keys()],
    ["Note"],
  );
});

Deno.test("named() makes a reference and keeps what it refers to", () => {
  const inner = named("Inner", text());
  const outer = named(
    "Outer",
    object({ inner, more: list(inner, { maxItems: 2 }) }),
  );
  assertEquals(outer.json, { $ref: "#/components/schemas/Outer" });
  assertEquals([...outer.definitions().keys()].sort(), ["Inner", "Outer"]);
  assertEquals(readWhole(outer, { inner: "a", more: ["b"] }), {
    kind: "ok",
    value: { inner: "a", more: ["b"] },
  });
  assertThrows(() => named("no name", text()), TypeError);
});

Deno.test("described() adds words and changes nothing else", () => {
  const schema = described(text(), {
    description: "A word",
    examples: ["a"],
    writeOnly: true,
  });
  assertEquals(schema.json, {
    type: "string",
    maxLength: 1_000,
    description: "A word",
    examples: ["a"],
    writeOnly: true,
  });
  assertEquals(readWhole(schema, "b"), { kind: "ok", value: "b" });
});

function drawSchema(random: SeededRandom, depth: number): Schema<unknown> {
  const plain: readonly (() => Schema<unknown>)[] = [
    () => text({ minLength: random.below(3), maxLength: 2 + random.below(4) }),
    () => text({ pattern: ONE_LINE }),
    () => integer({ minimum: random.below(3) - 2, maximum: random.below(4) }),
    () => integer(),
    () => number({ minimum: -1 }),
    () => boolean(),
    () => choice(["todo", "idea"], { aliases: { name: "todo" } }),
    () => literal(random.pick(["a", 1, true, null])),
    () => anyJson({ maxBytes: 10_000 }),
  ];
  if (depth === 0) return random.pick(plain)();
  const inner = (): Schema<unknown> => drawSchema(random, depth - 1);
  return random.pick<() => Schema<unknown>>([
    ...plain,
    () => nullable(inner()),
    () => named("Inner", nullable(text())),
    () =>
      list(inner(), {
        maxItems: random.below(4),
        minItems: random.below(2),
        isUnique: random.chance(0.3),
      }),
    () => record(inner(), { maxEntries: 3, names: text({ maxLength: 4 }) }),
    () =>
      object({
        name: random.chance(0.5) ? text() : optional(text()),
        size: withDefault(integer(), 1),
        todo: optional(inner()),
      }),
    () =>
      oneOf([
        { when: (value) => typeof value === "string", schema: text() },
        { when: Array.isArray, schema: list(boolean(), { maxItems: 2 }) },
      ], { mustBe: "text nor a list" }),
  ])();
}

function drawValue(random: SeededRandom, depth: number): unknown {
  const kind = random.below(depth === 0 ? 4 : 7);
  switch (kind) {
    case 0:
      return random.pick(WORDS);
    case 1:
      return random.pick(NUMBERS);
    case 2:
      return random.chance(0.5);
    case 3:
      return null;
    case 4:
      return random.list(4, () => drawValue(random, depth - 1));
    default:
      // As a parser makes it: "__proto__" is a member like any other.
      return JSON.parse(JSON.stringify(Object.fromEntries(
        random.list(
          4,
          () => [random.pick(WORDS), drawValue(random, depth - 1)],
        ),
      )));
  }
}

/** A pointer leads to something, or to a member that is missing. */
function assertPointer(pointer: string, value: unknown): void {
  const tokens = pointer.split("/").slice(1).map((token) =>
    token.replaceAll("~1", "/").replaceAll("~0", "~")
  );
  let found: unknown = value;
  for (const [index, token] of tokens.entries()) {
    assert(typeof found === "object" && found !== null, pointer);
    const isThere = Object.hasOwn(found, token);
    assert(isThere || index === tokens.length - 1, pointer);
    found = new Map<string, unknown>(Object.entries(found)).get(token);
  }
}
