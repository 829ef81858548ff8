/**
 * Reads a file of at most so many bytes.
 *
 * @module
 */

/** What became of reading a file. */
export type BoundedRead =
  | {
    readonly kind: "read";
    /** The content. */
    readonly bytes: Uint8Array;
    /** When the content was last changed, by the file system. */
    readonly changedMs: number;
  }
  | { readonly kind: "missing" }
  | { readonly kind: "not_a_file" }
  | { readonly kind: "too_large" }
  | { readonly kind: "failed"; readonly error: unknown };

const CHUNK_BYTES = 65_536;

/**
 * Reads the file at `path`, or the one its links lead to. Something else than a
 * regular file is not opened, as opening a pipe would wait for ever.
 */
export async function readBounded(
  path: string,
  maxBytes: number,
): Promise<BoundedRead> {
  try {
    const info = await Deno.stat(path);
    if (!info.isFile) return { kind: "not_a_file" };
    if (info.size > maxBytes) return { kind: "too_large" };
    const bytes = await readUpTo(path, maxBytes);
    if (bytes === undefined) return { kind: "too_large" };
    return { kind: "read", bytes, changedMs: info.mtime?.getTime() ?? 0 };
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? { kind: "missing" }
      : { kind: "failed", error };
  }
}

/** Counts what it reads: the file may have grown since its size was asked. */
async function readUpTo(
  path: string,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  using file = await Deno.open(path);
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (true) {
    const chunk = new Uint8Array(CHUNK_BYTES);
    const count = await file.read(chunk);
    if (count === null) break;
    length += count;
    if (length > maxBytes) return undefined;
    chunks.push(chunk.subarray(0, count));
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
