import { assertEquals } from "@std/assert";
import { isTrue } from "./truth.ts";

Deno.test("isTrue() takes true, 1 and names as on, and nothing, 0 and false as off", () => {
  assertEquals(
    ["true", "1", "yes", "", "0", "false", undefined].map(isTrue),
    [true, true, true, false, false, false, false],
  );
});
