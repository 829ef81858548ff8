import { assertEquals, assertRejects } from "@std/assert";
import { createPrivately, readIfThere } from "./configuration.ts";

Deno.test("createPrivately() writes a whole file for its owner alone, once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/made`;
    const text = "a key\n".repeat(50_000);
    await createPrivately(path, text);
    assertEquals(await readIfThere(path), text);
    assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
    await assertRejects(
      () => createPrivately(path, "other"),
      Deno.errors.AlreadyExists,
    );
    assertEquals(await readIfThere(path), text);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readIfThere() gives undefined when there is no such file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    assertEquals(await readIfThere(`${folder}/none`), undefined);
  } finally {
    await Deno.remove(folder);
  }
});
