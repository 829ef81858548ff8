import { assertEquals, assertNotEquals } from "@std/assert";
import { makePipe } from "../../../tests/support/make_pipe.ts";
import { watchedDirectories } from "./watched_directories.ts";

/**
 * Runs `use` with a function that returns the directories of paths, both below
 * a folder that is removed afterwards; `.` is that folder itself.
 */
async function inFolder(
  use: (
    folder: string,
    found: (...paths: string[]) => Promise<readonly string[]>,
  ) => Promise<void>,
): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await use(folder, async (...paths) => {
      const found = await watchedDirectories(
        paths.map((path) => `${folder}/${path}`),
      );
      return found.map(({ path }) => path.slice(folder.length + 1) || ".")
        .sort();
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("watchedDirectories() finds a directory itself, and the directory of a file", async () => {
  await inFolder(async (folder, found) => {
    await Deno.mkdir(`${folder}/a/config/below`, { recursive: true });
    await Deno.writeTextFile(`${folder}/a/config/file`, "");
    await Deno.mkdir(`${folder}/tls`);
    await Deno.writeTextFile(`${folder}/tls/cert`, "");
    makePipe(`${folder}/tls/pipe`);
    // Neither those above nor those below.
    assertEquals(await found("a/config"), ["a/config"]);
    assertEquals(await found("tls/cert", "tls/pipe", "a/config/file"), [
      "a/config",
      "tls",
    ]);
  });
});

Deno.test("watchedDirectories() finds where something missing would appear", async () => {
  await inFolder(async (folder, found) => {
    assertEquals(await found("a/config"), ["."]);
    await Deno.mkdir(`${folder}/a`);
    assertEquals(await found("a/config"), ["a"]);
    await Deno.symlink("../b/config", `${folder}/a/config`);
    assertEquals(await found("a/config"), [".", "a"]);
    await Deno.writeTextFile(`${folder}/c`, "a file on the way");
    assertEquals(await found("c/config"), ["."]);
  });
});

Deno.test("watchedDirectories() finds the directory of each link on the way, and of the files that a directory links to", async () => {
  await inFolder(async (folder, found) => {
    for (const path of ["releases/v1/config/..1", "other", "elsewhere"]) {
      await Deno.mkdir(`${folder}/${path}`, { recursive: true });
    }
    await Deno.symlink("releases", `${folder}/link`);
    await Deno.symlink("v1", `${folder}/releases/current`);
    const config = `${folder}/releases/v1/config`;
    await Deno.writeTextFile(`${config}/..1/a`, "");
    await Deno.symlink("..1", `${config}/..data`);
    await Deno.symlink("..data/a", `${config}/a`);
    await Deno.writeTextFile(`${folder}/other/b`, "");
    await Deno.symlink(`${folder}/other/b`, `${config}/b`);
    // What is below a directory does not matter, behind a link either.
    await Deno.symlink(`${folder}/elsewhere`, `${config}/c`);
    assertEquals(await found("link/current/config"), [
      ".",
      "other",
      "releases",
      "releases/v1/config",
      "releases/v1/config/..1",
    ]);
  });
});

Deno.test("watchedDirectories() ends at links that lead round, and finds a hundred directories at most", async () => {
  await inFolder(async (folder, found) => {
    await Deno.symlink("loop", `${folder}/loop`);
    assertEquals(await found("loop/config"), ["."]);
    await Deno.mkdir(`${folder}/config`);
    for (let n = 0; n < 150; n++) {
      await Deno.mkdir(`${folder}/${n}`);
      await Deno.writeTextFile(`${folder}/${n}/a`, "");
      await Deno.symlink(`../${n}/a`, `${folder}/config/${n}`);
    }
    assertEquals((await found("config")).length, 100);
  });
});

Deno.test("watchedDirectories() tells a directory from one that took its place", async () => {
  await inFolder(async (folder) => {
    const identity = async (): Promise<string | undefined> =>
      (await watchedDirectories([`${folder}/a`]))[0]?.identity;
    await Deno.mkdir(`${folder}/a`);
    const first = await identity();
    await Deno.writeTextFile(`${folder}/a/b`, "");
    assertEquals(await identity(), first);
    await Deno.remove(`${folder}/a`, { recursive: true });
    await Deno.mkdir(`${folder}/a`);
    assertNotEquals(await identity(), first);
  });
});
