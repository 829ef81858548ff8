import { assertEquals, assertRejects } from "@std/assert";
import { demandWritable, folderFault, openDataFolder } from "./data_folder.ts";

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

Deno.test("openDataFolder() says so when a part of the path is a file", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/taken`, "");
    await assertRejects(
      () => openDataFolder(`${folder}/taken/data`, { service: "tasks" }),
      Error,
      `of tasks: a part of its path is a file; set DATA_DIR to`,
    );
  });
});

Deno.test("openDataFolder() tries to write, and leaves nothing behind", async () => {
  await withFolder(async (folder) => {
    await openDataFolder(folder, { service: "tasks" });
    assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
  });
});

Deno.test("demandWritable() names service, folder and setting when the folder has gone", async () => {
  await withFolder(async (folder) => {
    const error = await assertRejects(
      () => demandWritable(`${folder}/none`, { service: "keyserver" }),
      Error,
      `Cannot write to the data folder "${folder}/none" of keyserver: `,
    );
    assertEquals(error.message.includes("DATA_DIR"), true);
  });
});

Deno.test("folderFault() says what to do for each reason", () => {
  const coded = (code: string) => Object.assign(new Error(code), { code });
  const { PermissionDenied } = Deno.errors;
  const cases: readonly (readonly [unknown, string])[] = [
    [
      new PermissionDenied("os error 13"),
      "this user may not write there; give it the right, or set DATA_DIR to a " +
      "folder that it may write to",
    ],
    [
      coded("EROFS"),
      "the file system is read-only; set DATA_DIR to a folder that it may " +
      "write to",
    ],
    [
      coded("ENOSPC"),
      "there is no space left; make room on its disk, or set DATA_DIR to a " +
      "folder on another one",
    ],
    [
      coded("ELOOP"),
      "ELOOP; set DATA_DIR to a folder that it may write to",
    ],
  ];
  for (const [cause, said] of cases) assertEquals(folderFault(cause), said);
});
