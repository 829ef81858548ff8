import { assert, assertEquals } from "@std/assert";
import { exampleConfig } from "../../scripts/example_types.ts";
import { TempFolder } from "./temp_folder.ts";

const ROOT = new URL("../../", import.meta.url);

/** Modules whose examples run without a server. */
const RUNNABLE: readonly string[] = [
  "sdk/ratelimit/middleware.ts",
  "sdk/tasks/keys_client.ts",
  "sdk/tasks/pages.ts",
  "sdk/tasks/task_handler.ts",
  "sdk/tasks/tasks_client.ts",
  "sdk/tasks/webhook.ts",
  "sdk/tasks/worker.ts",
  "sdk/tasks/workers_client.ts",
  "sdk/ratelimit.ts",
  "sdk/testing.ts",
];

Deno.test("the SDK's examples that need no server run, and print what they say", async () => {
  await using folder = await TempFolder.make();
  const config = `${folder.path}/deno.json`;
  await Deno.writeTextFile(config, JSON.stringify(await exampleConfig()));
  const wanted: string[] = [];
  for (const path of RUNNABLE) {
    const text = await Deno.readTextFile(new URL(path, ROOT));
    const lines = text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm);
    wanted.push(...Array.from(lines, ([, line = ""]) => line));
  }
  assert(wanted.length > RUNNABLE.length);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "--doc", "--no-check", "--no-prompt", "--config", config],
      ...RUNNABLE.map(resolvePath),
    ],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const said = new TextDecoder().decode(stdout);
  assertEquals(code, 0, said + new TextDecoder().decode(stderr));
  // The runner prints further lines of its own.
  const printed = said.split("\n").filter((line) => wanted.includes(line));
  assertEquals(printed, wanted);
});

function resolvePath(path: string): string {
  return decodeURIComponent(new URL(path, ROOT).pathname);
}
