import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ownSource } from "../../tests/support/with_own_std.ts";
import { runDenoTest } from "./test_run.ts";

const LAUNCHER = decodeURIComponent(
  new URL("../launch.ts", import.meta.url).pathname,
);

/**
 * Returns the runs of Deno that some arguments lead to when the runs end with
 * the given exit codes in turn.
 */
async function recordRuns(
  args: readonly string[],
  codes: readonly number[],
): Promise<{ code: number; runs: readonly (readonly string[])[] }> {
  const runs: (readonly string[])[] = [];
  const code = await runDenoTest(args, {
    source: "offline",
    run(given) {
      runs.push(given);
      return Promise.resolve(codes[runs.length - 1] ?? 0);
    },
  });
  return { code, runs };
}

Deno.test("runDenoTest() leaves types to the check, and passes the exit code on", async () => {
  const args = ["test", "--parallel", "sdk/none/", "--", "--quiet"];
  assertEquals(await recordRuns(args, [3]), {
    code: 3,
    runs: [["test", "--no-check", ...args.slice(1)]],
  });
});

Deno.test("runDenoTest() leaves arguments alone that say what is checked, or that run on", async () => {
  for (
    const flag of [
      "--no-check",
      "--check",
      "--no-run",
      "--watch",
      "--inspect-brk",
      "--help",
      "-q",
    ]
  ) {
    const args = ["test", flag, "sdk/"];
    assertEquals(await recordRuns(args, [0]), { code: 0, runs: [args] });
  }
});

Deno.test("runDenoTest() bundles the services when many tests start them, and removes what it made", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const files = [1, 2, 3].map((n) => `${folder}/a${n}_process_test.ts`);
    for (const file of files) await Deno.writeTextFile(file, "");
    const bundles: (string | undefined)[] = [];
    const constants: string[] = [];
    const runs = async (paths: readonly string[]) =>
      await runDenoTest(["test", ...paths], {
        source: ownSource(),
        async run(_, { env }) {
          bundles.push(env?.["TEST_BUNDLE"]);
          const bundle = bundles.at(-1);
          if (bundle !== undefined) await Deno.stat(`${bundle}/tasks.js`);
          constants.push(env?.["TEST_CONSTANTS"] ?? "");
          await Deno.stat(constants.at(-1)!);
          return 0;
        },
      });
    assertEquals([await runs(files.slice(1)), await runs(files)], [0, 0]);
    const [none, bundle = ""] = bundles;
    assertEquals(none, undefined);
    for (const made of [bundle, ...constants]) {
      await assertRejects(() => Deno.stat(made), Deno.errors.NotFound);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("launch.ts tests without checking types, shows what tests print, and fails with them", async () => {
  const folder = await Deno.makeTempDir();
  const test = async (text: string) => {
    const file = `${folder}/x_test.ts`;
    await Deno.writeTextFile(file, text);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-config", LAUNCHER, "test", file],
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    const decoder = new TextDecoder();
    return { code, said: decoder.decode(stdout) + decoder.decode(stderr) };
  };
  try {
    const good = await test(
      'Deno.test("a", () => console.log("out of a test")); ' +
        'export const b: number = "c";',
    );
    assertEquals(good.code, 0, good.said);
    assertStringIncludes(good.said, "out of a test");
    assertStringIncludes(good.said, "1 passed");
    assertEquals(/^Check /m.test(good.said), false, good.said);
    const failing = await test('Deno.test("a", () => { throw new Error(); });');
    assertEquals(failing.code, 1, failing.said);
    assertStringIncludes(failing.said, "1 failed");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
