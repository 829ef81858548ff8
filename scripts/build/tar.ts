/**
 * Writes tar archives in the ustar format, which every tar reads.
 *
 * @module
 */

/** One file of an archive. */
export interface TarFile {
  /** The name of the file, at most 100 bytes of ASCII. */
  readonly name: string;
  /** The content of the file, at most 8 GiB. */
  readonly content: Uint8Array;
  /** The permission bits of the file, such as 0o755. */
  readonly mode: number;
}

const BLOCK_BYTES = 512;

/**
 * Returns an archive of `files`. Owner and time are zero, so that the same
 * files always give the same bytes.
 *
 * @throws {RangeError} When a file name is longer than 100 characters or has
 * one that is not visible ASCII.
 */
export function createTar(files: readonly TarFile[]): Uint8Array {
  const sizes = files.map((file) =>
    BLOCK_BYTES + roundUp(file.content.byteLength)
  );
  // Two empty blocks end an archive.
  const totalBytes = sizes.reduce((a, b) => a + b, 0) + 2 * BLOCK_BYTES;
  const archive = new Uint8Array(totalBytes);
  let offset = 0;
  for (const [index, file] of files.entries()) {
    archive.set(createHeader(file), offset);
    archive.set(file.content, offset + BLOCK_BYTES);
    offset += sizes[index] ?? 0;
  }
  return archive;
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

function createHeader(file: TarFile): Uint8Array {
  if (!/^[\x21-\x7e]{1,100}$/.test(file.name)) {
    throw new RangeError(
      `Cannot archive "${file.name}": a name has 1 to 100 ASCII characters`,
    );
  }
  const header = new Uint8Array(BLOCK_BYTES);
  const write = (text: string, offset: number) =>
    header.set(new TextEncoder().encode(text), offset);
  write(file.name, 0);
  write(octal(file.mode, 8), 100);
  write(octal(0, 8), 108); // owner
  write(octal(0, 8), 116); // group
  write(octal(file.content.byteLength, 12), 124);
  write(octal(0, 12), 136); // time
  write(" ".repeat(8), 148); // the checksum counts itself as spaces
  write("0", 156); // a plain file
  write("ustar\x0000", 257);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  write(octal(checksum, 7) + " ", 148);
  return header;
}

/**
 * An octal number with leading zeros and a final zero byte, `width` bytes in
 * all.
 */
function octal(value: number, width: number): string {
  return value.toString(8).padStart(width - 1, "0") + "\0";
}
