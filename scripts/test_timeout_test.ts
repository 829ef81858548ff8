import { assertEquals, assertStringIncludes } from "@std/assert";

const PRELOAD = decodeURIComponent(
  new URL("./test_timeout.ts", import.meta.url).pathname,
);

/**
 * A test that would run for an hour, in each form of arguments, and tests that
 * end.
 */
const TESTS = `
const hour = () => new Promise((resolve) => setTimeout(resolve, 3_600_000));
Deno.test("waits", hour);
Deno.test(hour);
Deno.test("waits with options", { sanitizeExit: true }, hour);
Deno.test({ name: "is defined", fn: hour });
Deno.test({ name: "waits in a step", fn: (t) => t.step("step", hour) });
Deno.test("spins", () => { while (true); });
Deno.test("leaks", () => { setTimeout(() => {}, 3_600_000); });
Deno.test({ name: "is left out", ignore: true, fn: hour });
Deno.test("has a longer timeout of its own", { timeout: 60_000 }, async () => {
  await new Promise((resolve) => setTimeout(resolve, 800));
});
Deno.test("ends", () => {});
`;

Deno.test("test_timeout.ts ends every test, and the others go on", async () => {
  const folder = await Deno.makeTempDir({ prefix: "tercet-timeout-" });
  try {
    await Deno.writeTextFile(`${folder}/some_test.ts`, TESTS);
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "--no-config",
        "--no-check",
        "--allow-env",
        "--sanitize-ops",
        "--sanitize-resources",
        `--preload=${PRELOAD}`,
      ],
      cwd: folder,
      env: { TEST_TIMEOUT_MS: "400", TEST_EFFORT: "", NO_COLOR: "1" },
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stdout);
    assertEquals(code, 1, text);
    assertStringIncludes(text, "2 passed");
    assertStringIncludes(text, "7 failed");
    assertStringIncludes(text, "1 ignored");
    assertEquals(text.split("Test timed out after 400ms").length - 1, 6, text);
    assertStringIncludes(text, "A timer was started");
    // The report names the place of the tests, not the place where the timeout
    // was added.
    assertStringIncludes(text, "waits => ./some_test.ts:3:6");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
