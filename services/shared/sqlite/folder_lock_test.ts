import { assert, assertEquals, assertThrows } from "@std/assert";
import { lockFolder, tryLockFolder } from "./folder_lock.ts";

async function withFolder(use: (folder: string) => void): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("tryLockFolder() gives undefined while the folder is locked, and a lock after that", async () => {
  await withFolder((folder) => {
    const first = lockFolder(folder, "a.lock");
    assertEquals(tryLockFolder(folder, "a.lock"), undefined);
    assertThrows(() => lockFolder(folder, "a.lock"), Error, "another process");
    first.release();
    const second = tryLockFolder(folder, "a.lock");
    assert(second !== undefined);
    second.release();
  });
});

Deno.test("tryLockFolder() throws when the folder cannot be locked for another reason", async () => {
  await withFolder((folder) => {
    assertThrows(() => tryLockFolder(`${folder}/missing`, "a.lock"));
    Deno.writeTextFileSync(`${folder}/a.lock`, "no database".repeat(100));
    assertThrows(() => tryLockFolder(folder, "a.lock"));
  });
});
