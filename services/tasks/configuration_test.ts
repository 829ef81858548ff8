import { assertEquals, assertRejects } from "@std/assert";
import { processFiles } from "./configuration.ts";

Deno.test("processFiles.create() writes a whole file for its owner alone, once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/made`;
    const text = "a key\n".repeat(50_000);
    await processFiles.create(path, text);
    assertEquals(await processFiles.read(path), text);
    assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
    await assertRejects(
      () => processFiles.create(path, "other"),
      Deno.errors.AlreadyExists,
    );
    assertEquals(await processFiles.read(path), text);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("processFiles.read() gives undefined when there is no such file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    assertEquals(await processFiles.read(`${folder}/none`), undefined);
  } finally {
    await Deno.remove(folder);
  }
});
