import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { TempFolder } from "./temp_folder.ts";

const ROOT = new URL("../../", import.meta.url);

/** A module with a wrong example, which proves that the check finds errors. */
const WRONG = `/**
 * \`\`\`ts
 * import { Mem } from "@tercet/sdk";
 *
 * await Mem.create({ key: 5 }).remember("tea");
 * \`\`\`
 *
 * @module
 */
`;

Deno.test("the SDK's examples have the types that they say", async () => {
  await using folder = await TempFolder.make();
  const config = `${folder.path}/deno.json`;
  await Deno.writeTextFile(config, JSON.stringify(await exampleConfig()));
  const good = await check(config, await examined());
  assertEquals(good.code, 0, good.said);
  const wrong = `${folder.path}/wrong.ts`;
  await Deno.writeTextFile(wrong, WRONG);
  const bad = await check(config, [wrong]);
  assertEquals(bad.code, 1, bad.said);
  assertStringIncludes(bad.said, "TS2322");
});

/** Modules whose examples run without a server. */
const RUNNABLE: readonly string[] = [
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
      ...RUNNABLE.map(pathOf),
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

async function check(
  config: string,
  files: readonly string[],
): Promise<{ readonly code: number; readonly said: string }> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--doc", "--config", config, ...files],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  return { code, said: new TextDecoder().decode(stderr) };
}

/**
 * Returns the project's configuration with one change: unused names are
 * allowed, since an example is checked together with imports of everything that
 * its file exports.
 */
async function exampleConfig(): Promise<unknown> {
  const text = await Deno.readTextFile(new URL("deno.json", ROOT));
  const { name, exports, imports, compilerOptions } = JSON.parse(text);
  const packages = ["@noble/hashes", "@noble/curves", "@mysten/sui", "ai"];
  const entries = Object.entries<string>(exports).map(([path, file]) =>
    [`${name}${path.slice(1)}`, new URL(file, ROOT).href] as const
  );
  return {
    imports: {
      ...Object.fromEntries(entries),
      ...Object.fromEntries(packages.map((one) => [one, imports[one]])),
    },
    compilerOptions: { ...compilerOptions, noUnusedLocals: false },
  };
}

/**
 * Returns the modules that an application can import, and the files behind
 * them.
 */
async function examined(): Promise<readonly string[]> {
  const files = ["mod.ts"];
  for (
    const part of [
      "",
      "account/",
      "ai/",
      "manual/",
      "memory/",
      "mock/",
      "tasks/",
      "vault/",
    ]
  ) {
    const folder = `sdk/${part}`;
    for await (const { name } of Deno.readDir(new URL(folder, ROOT))) {
      if (name.endsWith(".ts") && !name.endsWith("_test.ts")) {
        files.push(`${folder}${name}`);
      }
    }
  }
  return files.sort().map(pathOf);
}

function pathOf(path: string): string {
  return decodeURIComponent(new URL(path, ROOT).pathname);
}
