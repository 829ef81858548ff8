import { assertEquals, assertRejects } from "@std/assert";
import { readSecretFile } from "./secret_file.ts";

Deno.test("readSecretFile() reads a file of its owner, and refuses one that others may read or that is missing", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/key`;
    await Deno.writeTextFile(path, " s3cret\n", { mode: 0o600 });
    assertEquals(await readSecretFile(path, "key"), "s3cret");
    await Deno.chmod(path, 0o640);
    const open = await assertRejects(
      () => readSecretFile(path, "key"),
      Error,
      "its mode is 640; run chmod 600 on it",
    );
    assertEquals(open.message.includes("s3cret"), false);
    await assertRejects(
      () => readSecretFile(`${folder}/none`, "key"),
      Error,
      `Cannot read the key in "${folder}/none"`,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
