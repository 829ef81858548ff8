import { assertEquals } from "@std/assert";
import { parseDescriptor } from "./written_request.ts";

Deno.test("parseDescriptor() reads pairs; a value may hold an equals sign or nothing", () => {
  assertEquals(parseDescriptor("a=1,b=,c=x=y"), {
    kind: "ok",
    entries: [
      { key: "a", value: "1" },
      { key: "b", value: "" },
      { key: "c", value: "x=y" },
    ],
  });
});

Deno.test("parseDescriptor() refuses what is no pair", () => {
  for (const text of ["", "a", "a=1,", "=1"]) {
    assertEquals(parseDescriptor(text).kind, "invalid", text);
  }
});
