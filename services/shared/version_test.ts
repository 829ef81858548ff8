import { assertEquals, assertMatch } from "@std/assert";
import { VERSION, versionLine } from "./version.ts";

Deno.test("VERSION is the one of deno.json", async () => {
  const path = new URL("../../deno.json", import.meta.url);
  const config: unknown = JSON.parse(await Deno.readTextFile(path));
  assertEquals(VERSION, Reflect.get(Object(config), "version"));
});

Deno.test("versionLine() names program, version, origin and Deno", () => {
  assertMatch(
    versionLine("tasks", undefined),
    /^tasks \d+\.\d+\.\d+ \(source, Deno \d+\.\d+\.\d+\)$/,
  );
  assertMatch(
    versionLine("tasks", { commit: "0123abcd+" }),
    /commit 0123abcd\+/,
  );
});
