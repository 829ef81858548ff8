import { assertEquals, assertStringIncludes } from "@std/assert";
import { runDenoTest } from "./checked_tests.ts";

const LAUNCHER = decodeURIComponent(
  new URL("../launch.ts", import.meta.url).pathname,
);

/**
 * Returns the runs of Deno that some arguments lead to, when the runs end with
 * the given exit codes in turn.
 */
async function runsOf(
  args: readonly string[],
  codes: readonly number[],
): Promise<{ code: number; runs: readonly (readonly string[])[] }> {
  const runs: (readonly string[])[] = [];
  const code = await runDenoTest(args, {
    run(given) {
      runs.push(given);
      return Promise.resolve(codes[runs.length - 1] ?? 0);
    },
  });
  return { code, runs };
}

Deno.test("runDenoTest() checks the types of the same tests first, and runs none when they are wrong", async () => {
  const args = ["test", "--parallel", "sdk/", "--", "--quiet"];
  const check = ["test", "--quiet", "--no-run", ...args.slice(1)];
  assertEquals(await runsOf(args, [0, 3]), {
    code: 3,
    runs: [check, ["test", "--no-check", ...args.slice(1)]],
  });
  assertEquals(await runsOf(args, [1]), { code: 1, runs: [check] });
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
    assertEquals(await runsOf(args, [0]), { code: 0, runs: [args] });
  }
});

Deno.test("launch.ts tests without a line for each file, shows what tests print, and fails for types that are wrong", async () => {
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
      'Deno.test("a", () => console.log("out of a test"));',
    );
    assertEquals(good.code, 0, good.said);
    assertStringIncludes(good.said, "out of a test");
    assertStringIncludes(good.said, "1 passed");
    assertEquals(/^Check /m.test(good.said), false, good.said);
    const wrong = await test(
      'Deno.test("a", () => {}); export const b: number = "c";',
    );
    assertEquals(wrong.code, 1, wrong.said);
    assertStringIncludes(wrong.said, "TS2322");
    assertEquals(wrong.said.includes("passed"), false, wrong.said);
    const failing = await test('Deno.test("a", () => { throw new Error(); });');
    assertEquals(failing.code, 1, failing.said);
    assertStringIncludes(failing.said, "1 failed");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
