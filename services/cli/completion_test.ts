import { assertEquals, assertMatch } from "@std/assert";
import { runCompletion } from "./completion.ts";
import { runTercet } from "./main.ts";

function play(args: readonly string[]) {
  const texts = { out: "", err: "" };
  const code = runCompletion(args, {
    out: (text) => texts.out += text,
    err: (text) => texts.err += text,
  });
  return { code, ...texts };
}

Deno.test("runCompletion() writes a script for bash and for zsh, and for no other shell", () => {
  assertMatch(play(["bash"]).out, /^complete .* tercet tercet-worker$/m);
  assertMatch(play(["zsh"]).out, /^compdef _tercet tercet tercet-worker$/m);
  for (const shell of ["fish", "constructor"]) {
    const { code, out, err } = play([shell]);
    assertEquals([code, out], [2, ""]);
    assertMatch(err, /there are bash and zsh/);
  }
});

Deno.test("runTercet() tells its commands, and those of a service, to what completes them", async () => {
  const lines: string[] = [];
  const io = {
    out: (text: string) => void lines.push(text),
    err: (text: string) => void lines.push(text),
    readVariable: () => undefined,
    readText: () => Promise.reject(new Error("not asked for")),
    readInput: () => Promise.reject(new Error("not asked for")),
    writeSecret: () => Promise.reject(new Error("not asked for")),
  };
  assertEquals(await runTercet(["--commands"], io), 0);
  assertEquals(await runTercet(["tasks", "--commands"], io), 0);
  const [all = "", tasks = ""] = lines.map((line) => line.split("\n"));
  assertEquals([all.includes("tasks"), all.includes("key")], [true, true]);
  assertEquals(
    [tasks.includes("create"), tasks.includes("backup")],
    [true, true],
  );
});
