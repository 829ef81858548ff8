import { assertEquals } from "@std/assert";

/** Listens twice, ends the first listening after one signal, tells what it hears. */
const PROGRAM = `
import { processSignals } from ${
  JSON.stringify(new URL("./signals.ts", import.meta.url).href)
};
// Listening alone does not keep a process alive.
const alive = setInterval(() => {}, 1000);
const endFirst = processSignals.listen("SIGHUP", () => {
  console.log("first");
  endFirst();
  endFirst();
});
const endSecond = processSignals.listen("SIGHUP", () => console.log("second"));
const endTerm = processSignals.listen("SIGTERM", () => {
  console.log("end");
  endSecond();
  endTerm();
  clearInterval(alive);
});
console.log("ready");
`;

Deno.test("processSignals hears signals until the listening ends", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--no-lock", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(PROGRAM));
  await input.close();

  const heard: string[] = [];
  const lines = child.stdout.pipeThrough(new TextDecoderStream());
  let signals: Deno.Signal[] = ["SIGHUP", "SIGHUP", "SIGTERM"];
  for await (const chunk of lines) {
    heard.push(...chunk.trim().split("\n"));
    // One at a time: signals of one kind that wait are told once.
    const isDone = heard.at(-1) !== "first" && heard.at(-1) !== "end";
    const [next, ...rest] = signals;
    if (isDone && next !== undefined) {
      signals = rest;
      child.kill(next);
    }
  }
  assertEquals(heard, ["ready", "first", "second", "second", "end"]);
  assertEquals((await child.status).code, 0);
});
