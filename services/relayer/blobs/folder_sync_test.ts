import { assertEquals, assertRejects } from "@std/assert";
import { FolderSync } from "./folder_sync.ts";

/** Syncs that a test ends by hand. */
class ManualSync {
  readonly begun: string[] = [];
  readonly ends: { resolve(): void; reject(error: Error): void }[] = [];
  readonly sync = (path: string): Promise<void> => {
    this.begun.push(path);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ends.push({ resolve, reject });
    return promise;
  };
}

Deno.test("FolderSync.sync() shares the next one, never the one under way", async () => {
  const manual = new ManualSync();
  const folders = new FolderSync(manual.sync);
  const first = folders.sync("a");
  const later = [folders.sync("a"), folders.sync("a"), folders.sync("b")];
  assertEquals(manual.begun, ["a", "b"]);
  manual.ends[0]?.resolve();
  await first;
  await Promise.resolve();
  assertEquals(manual.begun, ["a", "b", "a"]);
  manual.ends[1]?.resolve();
  manual.ends[2]?.resolve();
  await Promise.all(later);
  const after = folders.sync("a");
  assertEquals(manual.begun.length, 4);
  manual.ends[3]?.resolve();
  await after;
});

Deno.test("FolderSync.sync() tells a fault to those who waited for it alone", async () => {
  const manual = new ManualSync();
  const folders = new FolderSync(manual.sync);
  const first = folders.sync("a");
  const second = folders.sync("a");
  manual.ends[0]?.reject(new Error("the disk is gone"));
  await assertRejects(() => first, Error, "the disk is gone");
  await Promise.resolve();
  manual.ends[1]?.resolve();
  await second;
});
