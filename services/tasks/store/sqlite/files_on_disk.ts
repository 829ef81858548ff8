/**
 * Files that are whole and on the disk, or gone.
 *
 * @module
 */

/** Waits until a file, or the names in a folder, are on the disk. */
export async function syncPath(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true });
  await file.sync();
}

/** Removes a file, unless there is none. */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Copies a file to a new one, which its owner alone may read.
 *
 * @throws {Error} when the new one is there already
 */
export async function copyPrivately(from: string, to: string): Promise<void> {
  using source = await Deno.open(from, { read: true });
  // Deno.copyFile() would give it the mode of the other one.
  using target = await Deno.open(to, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  await source.readable.pipeTo(target.writable);
}
