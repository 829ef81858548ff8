import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  deriveOfflineConfig,
  isTrue,
  writeOfflineConfig,
} from "./offline_config.ts";

Deno.test("deriveOfflineConfig() keeps everything and adds links and a lock", () => {
  const denoJson = `{
    "imports": { "@std/yaml": "jsr:@std/yaml@^1.0.0" },
    "lint": { "plugins": ["./scripts/lint/boundaries.ts"] }
  }`;
  assertEquals(JSON.parse(deriveOfflineConfig(denoJson, { frozen: true })), {
    imports: { "@std/yaml": "jsr:@std/yaml@^1.0.0" },
    lint: { plugins: ["./scripts/lint/boundaries.ts"] },
    links: ["./scripts/offline/*"],
    lock: { path: "deno.offline.lock", frozen: true },
  });
});

Deno.test("deriveOfflineConfig() throws when deno.json is no object", () => {
  for (const text of ["[]", "null", "1", "{"]) {
    assertThrows(
      () => deriveOfflineConfig(text, { frozen: false }),
      SyntaxError,
    );
  }
});

Deno.test("writeOfflineConfig() writes when the configuration differs, and only then", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const root = new URL(`file://${folder}/`);
    const path = `${folder}/deno.offline.json`;
    await Deno.writeTextFile(`${folder}/deno.json`, `{"name":"@a/b"}`);
    await writeOfflineConfig({ root, frozen: false });
    const first = await Deno.readTextFile(path);
    assertEquals(
      first,
      deriveOfflineConfig(`{"name":"@a/b"}`, {
        frozen: false,
      }),
    );
    const { ino } = await Deno.stat(path);
    await writeOfflineConfig({ root, frozen: false });
    assertEquals((await Deno.stat(path)).ino, ino);
    await writeOfflineConfig({ root, frozen: true });
    assertEquals((await Deno.readTextFile(path)) === first, false);
    const entries = await Array.fromAsync(Deno.readDir(folder));
    assertEquals(entries.map((entry) => entry.name).sort(), [
      "deno.json",
      "deno.offline.json",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("writeOfflineConfig() rejects when there is no deno.json", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await assertRejects(
      () =>
        writeOfflineConfig({
          root: new URL(`file://${folder}/`),
          frozen: false,
        }),
      Deno.errors.NotFound,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("isTrue() takes true, 1 and names as on, and nothing, 0 and false as off", () => {
  assertEquals(
    ["true", "1", "yes", "", "0", "false", undefined].map(isTrue),
    [true, true, true, false, false, false, false],
  );
});
