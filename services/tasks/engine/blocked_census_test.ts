import { assertEquals } from "@std/assert";
import { BlockedCensus } from "./blocked_census.ts";

Deno.test("BlockedCensus.mayHave() is true for everybody before the first count", () => {
  const census = new BlockedCensus();
  census.begin();
  assertEquals(census.mayHave("a"), true);
});

Deno.test("BlockedCensus.mayHave() is true for who was found and who came since", () => {
  const census = new BlockedCensus();
  census.begin();
  census.add("during");
  census.end(["found"]);
  census.add("after");
  assertEquals(
    ["found", "during", "after", "other"].map((id) => census.mayHave(id)),
    [true, true, true, false],
  );
});

Deno.test("BlockedCensus.end() forgets who has none any more", () => {
  const census = new BlockedCensus();
  census.begin();
  census.end(["a", "b"]);
  census.begin();
  census.end(["b"]);
  assertEquals([census.mayHave("a"), census.mayHave("b")], [false, true]);
});
