import { assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { jsonShapeFault, type JsonShapeLimits } from "./json_shape.ts";

const LIMITS: JsonShapeLimits = { maxDepth: 3, maxValues: 6 };
const TOO_DEEP = "the body is nested more than 3 deep";
const TOO_WIDE = "the body has more than 6 values";

Deno.test("jsonShapeFault() counts lists and objects within each other", () => {
  assertEquals(faultOf('[{"a":[1]},{"b":[]}]', 99), undefined);
  assertEquals(faultOf('[{"a":[[]]}]', 99), TOO_DEEP);
});

Deno.test("jsonShapeFault() counts values", () => {
  assertEquals(faultOf('{"a":1,"b":2,"c":3,"d":4,"e":5}'), undefined);
  assertEquals(faultOf('{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}'), TOO_WIDE);
  assertEquals(faultOf("[[],[],[],[]]"), TOO_WIDE);
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
    assertEquals(faultOf(JSON.stringify([text, { [text]: text }])), undefined);
  }
  // The string is over: its last backslash is escaped itself.
  assertEquals(faultOf('["\\\\",[[[1]]]]'), TOO_DEEP);
});

Deno.test("jsonShapeFault() comes to an end whatever the bytes are", () => {
  for (const text of ["", '"', '"\\', '"\\"', "]]]]", "}{", "\\", ",", '"""']) {
    assertEquals(faultOf(text), undefined, text);
  }
});

Deno.test("jsonShapeFault() looks at each byte once, whatever the bytes are", async () => {
  for (const text of ["[", "[],", '{"a":', '"\\"', '"\\\\\\\\', '"",', " "]) {
    const look = (length: number) => {
      const bytes = new TextEncoder().encode(text.repeat(length / text.length));
      const limits = { maxDepth: Infinity, maxValues: Infinity };
      return () => void jsonShapeFault(bytes, limits);
    };
    await assertGrowth({
      small: look(65_536),
      large: look(262_144),
      atMost: 8,
    });
  }
});

function faultOf(text: string, maxValues = 6): string | undefined {
  return jsonShapeFault(new TextEncoder().encode(text), {
    ...LIMITS,
    maxValues,
  });
}
