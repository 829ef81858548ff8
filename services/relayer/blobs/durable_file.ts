/**
 * Files and folders that are on the disk when one is told so.
 *
 * @module
 */

/** Writes a file that its owner alone may read and waits for the disk. */
export async function writeDurableFile(
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  const file = await Deno.open(path, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o600,
  });
  try {
    let written = 0;
    while (written < bytes.length) {
      written += await file.write(bytes.subarray(written));
    }
    await file.sync();
  } finally {
    file.close();
  }
}

/** Waits until the disk has the names in a folder. */
export async function syncFolder(path: string): Promise<void> {
  // Windows has no way to do it, and writes names down at once.
  if (Deno.build.os === "windows") return;
  const folder = await Deno.open(path, { read: true });
  try {
    await folder.sync();
  } finally {
    folder.close();
  }
}
