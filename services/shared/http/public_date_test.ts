import { assertEquals, assertStrictEquals } from "@std/assert";
import { PublicDate } from "./public_date.ts";

Deno.test("PublicDate.at() writes the second the time is in", () => {
  const date = new PublicDate();
  const first = date.at(1_800_000_000_000);
  assertEquals(first, "Fri, 15 Jan 2027 08:00:00 GMT");
  assertStrictEquals(date.at(1_800_000_000_999), first);
  assertEquals(date.at(1_800_000_001_000), "Fri, 15 Jan 2027 08:00:01 GMT");
  assertEquals(date.at(1_799_999_999_000), "Fri, 15 Jan 2027 07:59:59 GMT");
});
