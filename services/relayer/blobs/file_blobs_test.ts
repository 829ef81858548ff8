import { assertEquals, assertRejects } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { blobPath, BlobStoreError, computeBlobId } from "./blob_store.ts";
import { FileBlobs } from "./file_blobs.ts";
import { testBlobStore } from "./testing/blob_conformance.ts";

async function withFolder(
  use: (folder: string, logger: RecordingLogger) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(`${folder}/blobs`, new RecordingLogger());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function withBlobs(
  use: (blobs: FileBlobs, folder: string, logger: RecordingLogger) => Promise<
    void
  >,
): Promise<void> {
  await withFolder(async (folder, logger) => {
    const blobs = new FileBlobs({ folder, logger });
    await blobs.start();
    await use(blobs, folder, logger);
    await blobs.stop();
  });
}

testBlobStore({
  name: "FileBlobs",
  removes: true,
  withStore: (use) => withBlobs((blobs) => use(blobs)),
});

function toFilePath(folder: string, blobId: string): string {
  const place = blobPath(blobId);
  return `${folder}/${place?.folder}/${place?.name}`;
}

Deno.test("FileBlobs has no blob whose file was changed, and tells so", async () => {
  await withBlobs(async (blobs, folder, logger) => {
    const blobId = await blobs.put(new Uint8Array(100).fill(1));
    await Deno.writeFile(
      toFilePath(folder, blobId),
      new Uint8Array(100).fill(2),
    );
    assertEquals(await blobs.get(blobId), { kind: "missing" });
    assertEquals(logger.lines.map(({ message }) => message), [
      "Cannot read blob: its file was changed",
    ]);
  });
});

Deno.test("FileBlobs.isGone() is true when the file is gone, and for what is no id", async () => {
  await withBlobs(async (blobs, folder) => {
    const blobId = await blobs.put(new Uint8Array(100));
    assertEquals(await blobs.isGone(blobId), false);
    await Deno.remove(toFilePath(folder, blobId));
    assertEquals(await blobs.isGone(blobId), true);
    assertEquals(await blobs.isGone("../x"), true);
  });
});

Deno.test("FileBlobs reads no file that is larger than blobs are", async () => {
  await withFolder(async (folder, logger) => {
    const blobs = new FileBlobs({ folder, logger, maxBytes: 1_000 });
    await blobs.start();
    const blobId = await blobs.put(new Uint8Array(100));
    await Deno.writeFile(toFilePath(folder, blobId), new Uint8Array(1_001));
    assertEquals(await blobs.get(blobId), { kind: "missing" });
    await blobs.stop();
  });
});

Deno.test("FileBlobs.put() writes a file again that was cut", async () => {
  await withBlobs(async (blobs, folder) => {
    const bytes = new Uint8Array(100).fill(1);
    const blobId = await blobs.put(bytes);
    await Deno.truncate(toFilePath(folder, blobId), 50);
    assertEquals((await blobs.get(blobId)).kind, "missing");
    assertEquals(await blobs.put(bytes), blobId);
    assertEquals(await blobs.get(blobId), { kind: "ok", bytes });
  });
});

Deno.test("FileBlobs.start() removes what was left unfinished and keeps the rest", async () => {
  await withFolder(async (folder, logger) => {
    const first = new FileBlobs({ folder, logger });
    await first.start();
    const blobId = await first.put(new Uint8Array([1]));
    await first.stop();
    await Deno.writeTextFile(`${folder}/unfinished/left`, "half");
    const second = new FileBlobs({ folder, logger });
    await second.start();
    const left = await Array.fromAsync(Deno.readDir(`${folder}/unfinished`));
    assertEquals(left, []);
    assertEquals((await second.get(blobId)).kind, "ok");
    await second.stop();
  });
});

Deno.test("FileBlobs keeps files for their owner alone", async () => {
  await withBlobs(async (blobs, folder) => {
    const blobId = await blobs.put(new Uint8Array([1]));
    const { mode } = await Deno.stat(toFilePath(folder, blobId));
    assertEquals((mode ?? 0) & 0o077, 0);
  });
});

Deno.test("FileBlobs.put() leaves no unfinished file when a write fails, so that retries do not fill the disk", async () => {
  await withBlobs(async (blobs, folder) => {
    const bytes = new Uint8Array([1, 2, 3]);
    // A folder in the place of the file: the file cannot get its name.
    await Deno.mkdir(`${toFilePath(folder, computeBlobId(bytes))}/in the way`, {
      recursive: true,
    });
    for (let attempt = 0; attempt < 3; attempt++) {
      await assertRejects(() => blobs.put(bytes), BlobStoreError);
    }
    const left = await Array.fromAsync(Deno.readDir(`${folder}/unfinished`));
    assertEquals(left, []);
  });
});

Deno.test("FileBlobs.put() rejects with a passing fault when the folder cannot be written", async () => {
  await withBlobs(async (blobs, folder) => {
    await Deno.remove(folder, { recursive: true });
    await Deno.writeTextFile(folder, "a file in its place");
    const error = await assertRejects(
      () => blobs.put(new Uint8Array([1])),
      BlobStoreError,
      "Cannot store blob",
    );
    assertEquals(error.isPassing, true);
  });
});
