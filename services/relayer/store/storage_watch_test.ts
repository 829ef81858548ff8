import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";
import { StorageWatch } from "./storage_watch.ts";

const FULL = new StoreFailedError("database or disk is full");

function setUp() {
  const logger = new RecordingLogger();
  const disk = { isFull: true, tries: 0 };
  const watch = new StorageWatch(() => {
    disk.tries++;
    return disk.isFull ? Promise.reject(FULL) : Promise.resolve();
  }, logger);
  return { watch, logger, disk };
}

Deno.test("StorageWatch is not ready from a failure on until a try works", async () => {
  const { watch, logger, disk } = setUp();
  await watch.check();
  assertEquals([watch.isReady, disk.tries], [true, 0]);
  for (let count = 0; count < 1_000; count++) {
    assertEquals(watch.note(FULL), true);
  }
  await watch.check();
  assertEquals([watch.isReady, disk.tries], [false, 1]);
  assertEquals(logger.listMessages("error").length, 1);
  disk.isFull = false;
  await watch.check();
  await watch.check();
  assertEquals([watch.isReady, disk.tries], [true, 2]);
  watch.note(FULL);
  assertEquals(logger.listMessages("error").length, 2);
});

Deno.test("StorageWatch tries once at a time", async () => {
  const { watch, disk } = setUp();
  watch.note(FULL);
  await Promise.all([watch.check(), watch.check()]);
  assertEquals(disk.tries, 1);
});

Deno.test("StorageWatch stays unready when a file is damaged, whatever can be written", async () => {
  const { watch, disk } = setUp();
  const cause = Object.assign(new Error("malformed"), { errcode: 11 });
  disk.isFull = false;
  watch.note(new StoreFailedError("Cannot use relayer.db", { cause }));
  await watch.check();
  assertEquals([watch.isReady, disk.tries], [false, 0]);
});

Deno.test("StorageWatch.note() leaves faults of others to them", () => {
  const { watch } = setUp();
  const far = new BlobStoreError("507", { isPassing: true });
  assertEquals([watch.note(far), watch.note(new Error("bug"))], [false, false]);
  assertEquals(watch.isReady, true);
  const near = { isPassing: true, isLocal: true };
  assertEquals(watch.note(new BlobStoreError("No space", near)), true);
  assertEquals(watch.isReady, false);
});
