import { assertEquals, assertThrows } from "@std/assert";
import { createTar } from "./tar.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (value: string) => new TextEncoder().encode(value);

/**
 * Reads an archive by the rules of ustar; it shares no code with the writer.
 */
function readTar(archive: Uint8Array): {
  name: string;
  mode: number;
  content: string;
}[] {
  const files = [];
  let offset = 0;
  while (archive[offset] !== 0) {
    const header = archive.slice(offset, offset + 512);
    const field = (from: number, to: number) =>
      text(header.subarray(from, to)).replace(/\0.*$/, "");
    const size = parseInt(field(124, 136), 8);
    const checksum = parseInt(field(148, 156), 8);
    header.fill(32, 148, 156);
    assertEquals(header.reduce((sum, byte) => sum + byte, 0), checksum);
    assertEquals(field(257, 263), "ustar");
    files.push({
      name: field(0, 100),
      mode: parseInt(field(100, 108), 8),
      content: text(archive.subarray(offset + 512, offset + 512 + size)),
    });
    offset += 512 + Math.ceil(size / 512) * 512;
  }
  assertEquals(archive.byteLength, offset + 1024);
  return files;
}

Deno.test("createTar() writes names, modes and contents of any length", () => {
  const files = [0, 1, 511, 512, 513].map((length) => ({
    name: `file_${length}`,
    mode: length === 0 ? 0o755 : 0o644,
    content: "x".repeat(length),
  }));
  const archive = createTar(
    files.map((file) => ({ ...file, content: bytes(file.content) })),
  );
  assertEquals(readTar(archive), files);
});

Deno.test("createTar() gives the same bytes for the same files", () => {
  const files = [{ name: "a", mode: 0o644, content: bytes("b") }];
  assertEquals(createTar(files), createTar(files));
});

Deno.test("createTar() throws when a name does not fit", () => {
  for (const name of ["", "a".repeat(101), "ä", "a b", "a\0"]) {
    assertThrows(
      () => createTar([{ name, mode: 0o644, content: bytes("") }]),
      RangeError,
      `Cannot archive "${name}"`,
    );
  }
});
