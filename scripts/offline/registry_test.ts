import { assertEquals } from "@std/assert";
import { writeRegistry } from "./registry.ts";

/** Runs a function on two empty folders, and removes them afterwards. */
async function withFolders(
  run: (packages: URL, folder: URL) => Promise<void>,
): Promise<void> {
  const temporary = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${temporary}/packages/example`, { recursive: true });
    await run(
      new URL(`file://${temporary}/packages/`),
      new URL(`file://${temporary}/registry/`),
    );
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}

Deno.test("writeRegistry() lays a package out as JSR does", async () => {
  await withFolders(async (packages, folder) => {
    await Deno.writeTextFile(
      new URL("example/deno.json", packages),
      `{"name":"@std/example","version":"1.2.3","exports":"./mod.ts"}`,
    );
    await Deno.writeTextFile(new URL("example/mod.ts", packages), "abc");
    await Deno.writeTextFile(new URL("example/LICENSE", packages), "abc");
    assertEquals(await writeRegistry({ packages, folder }), ["@std/example"]);
    const read = async (path: string) =>
      JSON.parse(await Deno.readTextFile(new URL(path, folder)));
    assertEquals(await read("@std/example/meta.json"), {
      scope: "std",
      name: "example",
      latest: "1.2.3",
      versions: { "1.2.3": {} },
    });
    const meta = await read("@std/example/1.2.3_meta.json");
    assertEquals(meta.exports, { ".": "./mod.ts" });
    // The hash of "abc" is the example of FIPS 180-4.
    assertEquals(meta.manifest["/LICENSE"], {
      size: 3,
      checksum: "sha256-" +
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    });
    assertEquals(
      await Deno.readTextFile(new URL("@std/example/1.2.3/mod.ts", folder)),
      "// @ts-nocheck\nabc",
    );
    assertEquals(meta.manifest["/mod.ts"].size, 18);
  });
});

Deno.test("writeRegistry() takes the stand-ins of this project", async () => {
  await withFolders(async (_packages, folder) => {
    const packages = new URL("./", import.meta.url);
    assertEquals(await writeRegistry({ packages, folder }), [
      "@std/assert",
      "@std/http",
      "@std/yaml",
    ]);
  });
});
