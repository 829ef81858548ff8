import { assert, assertEquals } from "@std/assert";
import { executableName, isTarget, TARGETS } from "./targets.ts";

Deno.test("isTarget() knows the machines that there is a runtime for", () => {
  assert(TARGETS.every(isTarget));
  assert(!isTarget("x86_64-unknown-linux-musl"));
});

Deno.test("executableName() ends as Windows wants it when the target is Windows", () => {
  const names = TARGETS.map((target) => executableName("tasks", target));
  assertEquals(new Set(names), new Set(["tasks", "tasks.exe"]));
  assertEquals(
    executableName("dist/tasks.exe", "x86_64-pc-windows-msvc"),
    "dist/tasks.exe",
  );
});
