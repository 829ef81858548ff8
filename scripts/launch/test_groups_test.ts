import { assert, assertEquals } from "@std/assert";
import { basename, join } from "node:path";
import { expandPermissions } from "../permissions.ts";
import { withStd } from "./deno_process.ts";
import { groupTests, withTestGroups } from "./test_groups.ts";

/**
 * Runs `use` on a folder that contains the given files, and removes the folder
 * afterwards.
 */
async function withFiles(
  files: Readonly<Record<string, string>>,
  use: (root: string) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(join(root, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(root, path), text);
    }
    await use(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/**
 * For each module among the arguments, the names of the files that it imports.
 */
async function importedBy(
  args: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const modules = args.filter((arg) => arg.endsWith(".ts"));
  const texts = await Promise.all(modules.map((m) => Deno.readTextFile(m)));
  return texts.map((text) =>
    [...text.matchAll(/import "(.*)";/g)].map(([, url = ""]) => basename(url))
  );
}

Deno.test("groupTests() gives each file to one group of its room, at most 24 to a group, 8 of tests, those with the longest files first", () => {
  const files = [
    ...Array.from({ length: 60 }, (_, n) => `/r/services/tasks/x/${n}_test.ts`),
    "/r/services/relayer/a_test.ts",
    "/r/root_test.ts",
    "/r/tests/b_test.ts",
    ...Array.from({ length: 9 }, (_, n) => `/r/tests/tasks/${n}_test.ts`),
    "/r/tests/console/c_test.ts",
  ];
  const groups = groupTests(files, "/r");
  assertEquals(groups.map(({ name, files }) => [name, files.length]), [
    ["001_tests_console", 1],
    ["002_tests_tasks", 5],
    ["003_tests_tasks", 4],
    ["004_tests", 1],
    ["005_services_tasks", 20],
    ["006_services_tasks", 20],
    ["007_services_tasks", 20],
    ["008_services_relayer", 1],
    ["009_root", 1],
  ]);
  assertEquals(groups.flatMap(({ files }) => files).sort(), files.sort());
});

Deno.test("withTestGroups() hands on modules that import the tests of folders and files, and removes them", async () => {
  const files = {
    "sdk/a_test.ts": "",
    "sdk/deep/b_test.ts": "",
    "sdk/c.ts": "",
    "sdk/.hidden/d_test.ts": "",
    "sdk/node_modules/e_test.ts": "",
    "scripts/named.ts": "",
  };
  await withFiles(files, async (root) => {
    const paths = [`${root}/sdk`, `${root}/scripts/named.ts`];
    const flags = ["--no-check", "--config", "deno.json", "--junit-path=x.xml"];
    const given = ["test", ...flags, ...paths, "--allow-net"];
    const modules = await withTestGroups(given, { root }, async ({ args }) => {
      assertEquals(args.slice(0, 6), ["test", ...flags, "--allow-net"]);
      assertEquals(await importedBy(args), [
        ["b_test.ts"],
        ["a_test.ts"],
        ["named.ts"],
      ]);
      return args.slice(6);
    });
    assertEquals(modules.length, 3);
    for (const module of modules) {
      assert(await Deno.stat(module).then(() => false, () => true), module);
    }
  });
});

Deno.test("withTestGroups() takes the arguments of deno task test, with the stand-ins as well", async () => {
  const files = { "a_test.ts": "", "b_test.ts": "" };
  const task = ["test", "--permissions=test", "--parallel", "--preload=x"];
  const expanded = expandPermissions(task, {
    execPath: Deno.execPath(),
    isThere: () => true,
  });
  await withFiles(files, async (root) => {
    for (const source of ["jsr", "offline"] as const) {
      const args = withStd([...expanded, root], source);
      const imported = await withTestGroups(
        args,
        { root },
        (run) => importedBy(run.args),
      );
      assertEquals(imported.at(-1), ["a_test.ts", "b_test.ts"], source);
    }
  });
});

Deno.test("withTestGroups() removes the modules when the run fails", async () => {
  const files = { "a_test.ts": "", "b_test.ts": "" };
  await withFiles(files, async (root) => {
    const fault = await withTestGroups(["test", root], { root }, () => {
      throw new Error("no runtime");
    }).catch((error: unknown) => String(error));
    assertEquals(fault, "Error: no runtime");
    const left = await Array.fromAsync(Deno.readDir(`${root}/.tercet`));
    assertEquals(left, []);
  });
});

Deno.test("withTestGroups() hands arguments on as they are when they name one file, what is not there, or flags it does not know", async () => {
  const files = { "a_test.ts": "", "b_test.ts": "" };
  await withFiles(files, async (root) => {
    for (
      const rest of [
        [`${root}/a_test.ts`],
        [root, `${root}/not_there`],
        [root, "--filter", "word"],
        [root, "-A"],
        [root, "--", "argument"],
      ]
    ) {
      const args = ["test", ...rest];
      const given = await withTestGroups(
        args,
        { root },
        (run) => Promise.resolve(run.args),
      );
      assertEquals(given, args);
    }
  });
});

Deno.test("withTestGroups() hands arguments on as they are in a checkout that can't be written to", async () => {
  const files = { "a_test.ts": "", "b_test.ts": "" };
  await withFiles(files, async (root) => {
    // In this file system no folder can be created, not even by root.
    const args = ["test", root];
    const given = await withTestGroups(
      args,
      { root: "/sys" },
      (run) => Promise.resolve(run.args),
    );
    assertEquals(given, args);
  });
});
