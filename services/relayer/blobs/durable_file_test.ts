import { assertEquals, assertRejects } from "@std/assert";
import { syncFolder, writeDurableFile } from "./durable_file.ts";

async function withFolder(
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "durable_file_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("writeDurableFile() writes all bytes, in place of what was there", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/file`;
    for (const length of [1_000_000, 3, 0]) {
      const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
      await writeDurableFile(path, bytes);
      assertEquals(await Deno.readFile(path), bytes);
    }
  });
});

Deno.test({
  name: "writeDurableFile() makes files that their owner alone may read",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const path = `${folder}/file`;
      await writeDurableFile(path, Uint8Array.of(1));
      assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    });
  },
});

Deno.test("writeDurableFile() passes on that there is no folder", async () => {
  await withFolder(async (folder) => {
    await assertRejects(
      () => writeDurableFile(`${folder}/none/file`, Uint8Array.of(1)),
      Deno.errors.NotFound,
    );
  });
});

Deno.test({
  name: "syncFolder() passes on that there is no folder",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      await syncFolder(folder);
      await assertRejects(
        () => syncFolder(`${folder}/none`),
        Deno.errors.NotFound,
      );
    });
  },
});
