import { assertEquals, assertThrows } from "@std/assert";
import { readMetadata } from "./remember_view.tsx";

Deno.test("readMetadata() reads lines with numbers, truths and texts", () => {
  assertEquals(readMetadata(" \n"), undefined);
  assertEquals(
    readMetadata("person=Ada\n n = -1.5 \nok=true\nsum=a=b\nversion=1.2.3"),
    { person: "Ada", n: -1.5, ok: true, sum: "a=b", version: "1.2.3" },
  );
  for (const line of ["person", "=Ada"]) {
    assertThrows(() => readMetadata(line), TypeError, `"${line}" is not like`);
  }
});
