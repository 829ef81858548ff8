import { assert, assertEquals } from "@std/assert";
import { readBounded } from "./read_bounded.ts";

Deno.test("readBounded() reads a file up to the bound", async () => {
  const path = await Deno.makeTempFile();
  try {
    for (const size of [0, 1, 99_999, 100_000]) {
      await Deno.writeFile(path, new Uint8Array(size).fill(7));
      const read = await readBounded(path, 100_000);
      assert(read.kind === "read", read.kind);
      assertEquals(read.bytes.byteLength, size);
      assertEquals(read.bytes.every((byte) => byte === 7), true);
    }
    await Deno.writeFile(path, new Uint8Array(100_001));
    assertEquals(await readBounded(path, 100_000), { kind: "too_large" });
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("readBounded() tells what is no file", async () => {
  const directory = await Deno.makeTempDir();
  try {
    assertEquals(await readBounded(directory, 10), { kind: "not_a_file" });
    assertEquals(await readBounded("/dev/zero", 10), { kind: "not_a_file" });
    assertEquals(await readBounded(`${directory}/x`, 10), { kind: "missing" });
    await Deno.symlink("loop", `${directory}/loop`);
    assertEquals((await readBounded(`${directory}/loop`, 10)).kind, "failed");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
