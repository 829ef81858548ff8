import { assertEquals, assertMatch } from "@std/assert";
import { withStd } from "./deno_process.ts";

Deno.test("withStd() leaves the arguments alone when the packages are real", () => {
  assertEquals(withStd(["test", "sdk/"], "jsr"), ["test", "sdk/"]);
});

Deno.test("withStd() puts the offline configuration behind the subcommand", () => {
  const [subcommand, flag, path, ...rest] = withStd(
    ["test", "--parallel", "sdk/"],
    "offline",
  );
  assertEquals([subcommand, flag], ["test", "--config"]);
  assertMatch(path ?? "", /^\/.*\/deno\.offline\.json$/);
  assertEquals(rest, ["--parallel", "sdk/"]);
});

Deno.test("withStd() adds nothing when there is no subcommand", () => {
  assertEquals(withStd([], "offline"), []);
});
