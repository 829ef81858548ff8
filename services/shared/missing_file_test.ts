import { assertEquals, assertRejects } from "@std/assert";
import { ifThere, readIfThere, removeIfThere } from "./missing_file.ts";

Deno.test("readIfThere() and removeIfThere() do nothing when there is no such file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/file`;
    assertEquals(await readIfThere(path), undefined);
    await removeIfThere(path);
    await Deno.writeTextFile(path, "text");
    assertEquals(await readIfThere(path), "text");
    await removeIfThere(path);
    assertEquals(await readIfThere(path), undefined);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("ifThere() throws when the work fails of something else", async () => {
  await assertRejects(() => ifThere(Deno.readFile(".")));
});
