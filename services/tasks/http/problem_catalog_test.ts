import { assertEquals } from "@std/assert";
import { PROBLEM_CODES, problemKind } from "./problem_catalog.ts";

Deno.test("PROBLEM_CODES stand in the order of their status codes", () => {
  const statuses = PROBLEM_CODES.map((code) => problemKind(code).status);
  assertEquals(statuses, statuses.toSorted((one, other) => one - other));
});
