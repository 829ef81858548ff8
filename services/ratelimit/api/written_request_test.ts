import { assertEquals } from "@std/assert";
import { parseDescriptor, parseLimit } from "./written_request.ts";

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

Deno.test("parseLimit() reads a number and a unit in any case, or none", () => {
  const readLimit = (text: string) => {
    const parsed = parseLimit(text);
    return parsed.kind === "ok" ? parsed.limit : parsed.problem;
  };
  assertEquals(readLimit("10/minute"), { requestsPerUnit: 10, unit: 2 });
  assertEquals(readLimit("0/WEEK"), { requestsPerUnit: 0, unit: 7 });
  assertEquals(readLimit("4294967295/Second"), {
    requestsPerUnit: 4_294_967_295,
    unit: 1,
  });
  assertEquals(readLimit("none"), undefined);
});

Deno.test("parseLimit() refuses everything else", () => {
  for (
    const text of [
      ...["", "10", "/day", "10/", "10/fortnight", "-1/day", "1.5/day"],
      ...["4294967296/day", "10/unknown", "10 /day", "1/day/2", "None"],
    ]
  ) assertEquals(parseLimit(text).kind, "invalid", text);
});
