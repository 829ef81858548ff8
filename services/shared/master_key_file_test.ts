import { assertEquals, assertRejects } from "@std/assert";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import { readMasterKeyFile } from "./master_key_file.ts";

Deno.test("readMasterKeyFile() makes a file for its owner alone, once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const logger = new RecordingLogger();
    const read = (mayCreate: boolean) =>
      readMasterKeyFile(folder, { mayCreate, about: "A key.", logger });
    await assertRejects(() => read(false), Error, "restore it from its copy");
    const keys = await read(true);
    assertEquals(keys.length, 1);
    assertEquals(await read(false), keys);
    assertEquals(logger.messages.length, 1);
    const entries = await Array.fromAsync(Deno.readDir(folder));
    const names = entries.map(({ name }) => name);
    assertEquals(names, ["master.key"]);
    const path = `${folder}/master.key`;
    if (Deno.build.os !== "windows") {
      assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
      await Deno.chmod(path, 0o644);
      await read(false);
      assertEquals(logger.messagesOf("warning").length, 1);
    }
    await Deno.writeTextFile(path, "no key");
    await assertRejects(() => read(true), Error, "entry 1 is no base64");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
