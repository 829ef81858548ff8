import { assertEquals, assertStringIncludes } from "@std/assert";
import { runTercet } from "./main.ts";

/** Runs the program by a path, and returns its code and what it wrote. */
async function play(args: readonly string[], path?: string) {
  let text = "";
  const write = (written: string) => void (text += written);
  const never = () => Promise.reject(new Error("not asked for"));
  const code = await runTercet(args, {
    out: write,
    err: write,
    readVariable: () => undefined,
    readText: never,
    readInput: never,
    writeSecret: never,
    path,
  });
  return { code, text };
}

Deno.test("runTercet() is the service that its link is named after", async () => {
  const help = await play(["--help"], "/bin/ratelimit");
  assertEquals(help.code, 0);
  assertStringIncludes(help.text, "ratelimit check");
  assertEquals(help.text.includes("tercet"), false);
  const version = await play(["--version"], "keyserver");
  assertStringIncludes(version.text, "keyserver ");
});

Deno.test("runTercet() takes any other name for its own", async () => {
  for (const path of [undefined, "/usr/local/bin/tercet", "deno", "health"]) {
    const { code, text } = await play(["ratelimit", "--help"], path);
    assertEquals(code, 0);
    assertStringIncludes(text, "tercet ratelimit check");
  }
});
