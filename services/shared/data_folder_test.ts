import { assertEquals, assertRejects } from "@std/assert";
import { openDataFolder } from "./data_folder.ts";

async function withFolder(use: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("openDataFolder() makes a folder that only its owner can look into", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/a/b`;
    await openDataFolder(path, { service: "tasks" });
    await openDataFolder(path, { service: "tasks" });
    assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o700);
  });
});

Deno.test("openDataFolder() names service, folder and setting when there is a file of that name", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/taken`;
    await Deno.writeTextFile(path, "");
    await assertRejects(
      () => openDataFolder(path, { service: "relayer" }),
      Error,
      `Cannot make the data folder "${path}" of relayer: there is a file of that name; set DATA_DIR to`,
    );
  });
});

Deno.test({
  name:
    "openDataFolder() says nothing of the runtime's flags when writing is not permitted",
  permissions: { write: false },
  async fn() {
    const error = await assertRejects(
      () => openDataFolder("/nowhere/data", { service: "tasks" }),
      Error,
      "was started without the permission to write there; set DATA_DIR",
    );
    assertEquals(error.message.includes("--allow"), false);
  },
});
