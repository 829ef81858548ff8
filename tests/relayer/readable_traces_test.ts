import { Buffer } from "node:buffer";
import { assertEquals } from "@std/assert";
import { listWords, readableTraces } from "./readable_traces.ts";

Deno.test("readableTraces() finds a secret in each form it may be written in", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/deep`);
    const secret = "Quokka";
    const files: readonly (readonly [string, string | Uint8Array])[] = [
      ["plain", "a quokka b"],
      ["capitals", "QUOKKA"],
      ["utf16le", Buffer.from("xQuokka", "utf16le")],
      ["deep/utf16be", Buffer.from("xQuokka", "utf16le").swap16()],
      ["hex", Buffer.from("..Quokka").toString("hex")],
      ["base64_0", Buffer.from("Quokka!").toString("base64")],
      ["base64_1", Buffer.from("1Quokka!").toString("base64")],
      ["base64_2", Buffer.from("12Quokka!").toString("base64url")],
      ["none", "Quok ka quoka"],
    ];
    for (const [name, content] of files) {
      await Deno.writeFile(`${folder}/${name}`, Buffer.from(content));
    }
    const found = await readableTraces(folder, [secret, "wombat"]);
    const paths = [...new Set(found.map(({ path }) => path))].sort();
    assertEquals(
      paths,
      files.map(([name]) => name).filter((name) => name !== "none").sort(),
    );
    assertEquals(new Set(found.map((trace) => trace.secret)).size, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("listWords() gives each word of five letters and more once", () => {
  assertEquals(listWords(["Ada, drinks: oolong", "oolong7 drinks tea"]), [
    "drinks",
    "oolong",
    "oolong7",
  ]);
});
