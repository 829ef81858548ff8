import { assertEquals, assertThrows } from "@std/assert";
import {
  namespaceOrOptions,
  optionalName,
  optionalNumber,
  requireName,
  requireText,
} from "./arguments.ts";

interface Options {
  readonly namespace?: string;
  readonly limit?: number;
}

Deno.test("namespaceOrOptions() takes a namespace, options, or both", () => {
  const read = (value?: string | Options, more?: Options) =>
    namespaceOrOptions(value, more);
  assertEquals(read(), {});
  assertEquals(read("n"), { namespace: "n" });
  assertEquals(read({ limit: 1 }), { limit: 1 });
  assertEquals(read("n", { limit: 1 }), { namespace: "n", limit: 1 });
  assertEquals(read(undefined, { limit: 1 }), { limit: 1 });
  assertEquals(read("n", { namespace: "m" }), { namespace: "n" });
  for (const wrong of [null, 5, true]) {
    assertThrows(() => namespaceOrOptions(wrong as never), TypeError);
  }
});

Deno.test("the checks of arguments say what is there instead", () => {
  assertEquals(requireText("", "text"), "");
  assertEquals(requireName("a", "namespace"), "a");
  assertEquals(optionalName(undefined, "namespace"), undefined);
  assertEquals(optionalNumber(undefined, "limit"), undefined);
  assertEquals(optionalNumber(-1.5, "limit"), -1.5);
  const refused: (readonly [() => unknown, string])[] = [
    [() => requireText(null, "text"), "text: it is null instead"],
    [() => requireText([], "text"), "text: it is a list instead"],
    [() => requireText({}, "text"), "text: it is an object instead"],
    [() => requireName("", "namespace"), "namespace: it is empty"],
    [() => optionalName("", "namespace"), "namespace: it is empty"],
    [() => optionalNumber("3", "limit"), "limit: it is a string instead"],
    [() => optionalNumber(NaN, "limit"), "limit: it is NaN instead"],
  ];
  for (const [check, message] of refused) {
    assertThrows(check, TypeError, `Cannot use ${message}`);
  }
});
