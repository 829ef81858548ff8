import { assert, assertEquals } from "@std/assert";
import { jsonShapeFault, type JsonShapeLimits } from "./json_shape.ts";

const LIMITS: JsonShapeLimits = { maxDepth: 3, maxValues: 6 };
const TOO_DEEP = "too_deep";
const TOO_WIDE = "too_many_values";

Deno.test("jsonShapeFault() counts lists and objects within each other", () => {
  assertEquals(findFault('[{"a":[1]},{"b":[]}]', 99), undefined);
  assertEquals(findFault('[{"a":[[]]}]', 99), TOO_DEEP);
});

Deno.test("jsonShapeFault() counts values", () => {
  assertEquals(findFault('{"a":1,"b":2,"c":3,"d":4,"e":5}'), undefined);
  assertEquals(findFault('{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}'), TOO_WIDE);
  assertEquals(findFault("[[],[],[],[]]"), TOO_WIDE);
});

Deno.test("jsonShapeFault() counts the members of each object", () => {
  const of = (text: string) =>
    jsonShapeFault(toBytes(text), {
      maxDepth: 9,
      maxValues: 99,
      maxMembers: 2,
    });
  for (
    const text of [
      '[{"a":1,"b":{"c":[1,2,3],"d":2}},{"e":3,"f":4}]',
      "[1,2,3,[4,5,6]]",
      "1,2,3",
    ]
  ) assertEquals(of(text), undefined, text);
  assertEquals(of('{"x":0,"y":[{"a":1,"b":{"n":[1,2]},"c":3}]}'), {
    kind: "too_many_members",
    within: "y",
  });
  assertEquals(of('{"a":1,"b":2,"c":3}'), {
    kind: "too_many_members",
    within: undefined,
  });
});

Deno.test("jsonShapeFault() leaves alone what is in strings", () => {
  for (
    const text of [
      "[[[[,,,,,,,,",
      '"[[[[',
      '\\"[[[[,,,,',
      '\\\\\\"[[[[',
      "\\",
      "\\\\",
      "",
    ]
  ) {
    assertEquals(
      findFault(JSON.stringify([text, { [text]: text }])),
      undefined,
    );
  }
  // The string is over: its last backslash is escaped itself.
  assertEquals(findFault('["\\\\",[[[1]]]]'), TOO_DEEP);
});

Deno.test("jsonShapeFault() ends whatever the bytes are", () => {
  for (const text of ["", '"', '"\\', '"\\"', "]]]]", "}{", "\\", ",", '"""']) {
    assertEquals(findFault(text), undefined, text);
  }
});

Deno.test("jsonShapeFault() finds numbers that are infinite, and no others", () => {
  const nines = "9".repeat(309);
  for (
    const text of ["1e999", "-1E+309", nines, `${nines}.5`, `0.1e400`, "18e307"]
  ) assertEquals(findFault(text), "number_too_large", text);
  for (
    const text of [
      ...["1e308", "1e-999", "-1.7976931348623157e308", "0e999", "[1,2e3]"],
      ...["9".repeat(308), `0.${"1".repeat(500)}`, "1e", "e999", "true"],
      ...['"1e999"', '{"1e999":1}', `1${"0".repeat(400)}e-300`],
    ]
  ) assertEquals(findFault(text), undefined, text);
});

Deno.test("jsonShapeFault() tells the outermost member that a fault is within", () => {
  const within = (text: string) =>
    jsonShapeFault(toBytes(text), { maxDepth: 3, maxValues: 99 })?.within;
  assertEquals(within('{"x":[1,"y"],"a/\u0062":[[[]]]}'), "a/b");
  assertEquals(within("[1,[2,3],[[[]]]]"), 2);
  assertEquals(within('{"x":1,"n":-1e999}'), "n");
  assertEquals(within('{"x":1,"n":[{"m":1e999}]}'), "n");
  assertEquals(within("1e999"), undefined);
});

Deno.test("JsonShape.scan() looks at no byte more than twice, whatever they are", () => {
  for (
    const text of [
      ...["[", "[],", '{"a":', '"\\"', '"\\\\', '"",', " ", "1", "1e", "-"],
      ...['"x', `"${"x".repeat(70)}\\"`, `"${"\\n".repeat(40)}`, "1e308,"],
    ]
  ) {
    const looks = (bytes: number): number => {
      const whole = toBytes(text.repeat(bytes / text.length));
      let count = 0;
      const counting = new Proxy(whole, {
        get(target, name) {
          if (name === "indexOf") {
            return (byte: number, from: number) => {
              const index = target.indexOf(byte, from);
              count += (index === -1 ? target.length : index) - from;
              return index;
            };
          }
          if (typeof name === "string" && /^\d/.test(name)) count++;
          const value: unknown = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      jsonShapeFault(counting, { maxDepth: 1e5, maxValues: 1e9 });
      return count;
    };
    const [some, more] = [looks(10_000), looks(20_000)];
    assert(more <= 2.1 * some, `${text}: ${some} and ${more} looks`);
    assert(some <= 4 * 10_000, `${text}: ${some} looks at 10,000 bytes`);
  }
});

function findFault(text: string, maxValues = 6): string | undefined {
  return jsonShapeFault(toBytes(text), { ...LIMITS, maxValues })?.kind;
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
