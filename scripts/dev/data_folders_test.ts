import { assert, assertRejects, assertStringIncludes } from "@std/assert";
import { makeDataFolders } from "./data_folders.ts";

Deno.test("makeDataFolders() makes the folders that variables name, or else the others", async () => {
  const base = await Deno.makeTempDir();
  try {
    await makeDataFolders([
      { variable: "A_DATA_DIR", path: "never/made" },
      { variable: "B_DATA_DIR", path: `${base}/b` },
    ], (name) => name === "A_DATA_DIR" ? `${base}/deep/a` : undefined);
    assert((await Deno.stat(`${base}/deep/a`)).isDirectory);
    assert((await Deno.stat(`${base}/b`)).isDirectory);
  } finally {
    await Deno.remove(base, { recursive: true });
  }
});

Deno.test("makeDataFolders() names all variables when a folder cannot be made", async () => {
  const file = await Deno.makeTempFile();
  try {
    const error = await assertRejects(
      () =>
        makeDataFolders([
          { variable: "A_DATA_DIR", path: `${file}/a` },
          { variable: "B_DATA_DIR", path: `${file}/b` },
        ], () => undefined),
      Error,
      `Cannot make the data folder "${file}/a": `,
    );
    assertStringIncludes(error.message, "folders in A_DATA_DIR, B_DATA_DIR");
  } finally {
    await Deno.remove(file);
  }
});
