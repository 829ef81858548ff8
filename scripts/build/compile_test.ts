import { assertEquals, assertStringIncludes } from "@std/assert";
import { adviseAfter } from "./compile.ts";

Deno.test("adviseAfter() names both ways out when the runtime archive is missing", () => {
  const advice = adviseAfter(
    `Compile services/ratelimit/main.ts to dist/ratelimit
Download https://dl.deno.land/release/v2.9.6/denort-x86_64-unknown-linux-gnu.zip
error: Writing deno compile executable to temporary file 'dist/ratelimit.tmp'

Caused by:
    0: Setting up base binary.
    1: error sending request for url`,
    "dist/ratelimit",
  );
  assertStringIncludes(advice, `Cannot build "dist/ratelimit"`);
  assertStringIncludes(advice, "DENORT_BIN");
  assertStringIncludes(advice, "--fallback");
});

Deno.test("adviseAfter() does not blame the runtime archive for other faults", () => {
  assertEquals(
    adviseAfter("error: Type checking failed.", "dist/ratelimit"),
    `Cannot build "dist/ratelimit": deno compile failed`,
  );
});
