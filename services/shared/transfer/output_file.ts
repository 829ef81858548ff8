/**
 * The file that an export is written to: it is there only once it is whole and
 * on disk.
 *
 * @module
 */

import { syncFolder } from "../data_file.ts";
import { ifThere } from "../missing_file.ts";
import { quote } from "../quote.ts";

/** Takes bytes; resolves when it can take more. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>;

/**
 * Creates a file that only its owner may read, with what `fill` writes.
 *
 * @returns what `fill` returns
 * @throws {Error} when there is such a file already, and what `fill` throws; no
 * file is left then
 */
export async function writeNewFile<Answer>(
  path: string,
  fill: (write: WriteBytes) => Promise<Answer>,
): Promise<Answer> {
  if (await isThere(path)) {
    throw new Error(`Cannot write to ${quote(path)}: there is a file already`);
  }
  const part = `${path}.part`;
  try {
    // What an earlier run has left, with another mode perhaps.
    if (await isThere(part)) await Deno.remove(part);
    const file = await Deno.open(part, {
      write: true,
      createNew: true,
      mode: 0o600,
    });
    let answer: Answer;
    try {
      answer = await fill((bytes) => writeAll(file, bytes));
      await file.sync();
    } finally {
      file.close();
    }
    await Deno.rename(part, path);
    await syncFolder(folderOf(path));
    return answer;
  } catch (error) {
    if (await isThere(part)) await Deno.remove(part);
    throw error;
  }
}

/** Writes all of some bytes. */
export async function writeAll(
  to: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  let rest = bytes;
  while (rest.length > 0) rest = rest.subarray(await to.write(rest));
}

function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : path.slice(0, slash + 1);
}

async function isThere(path: string): Promise<boolean> {
  return await ifThere(Deno.lstat(path)) !== undefined;
}
