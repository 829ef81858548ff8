import { assertEquals, assertRejects } from "@std/assert";
import { BlobLocks } from "./blob_locks.ts";

Deno.test("BlobLocks.run() does one after the other for a blob, in their order", async () => {
  const locks = new BlobLocks();
  const log: string[] = [];
  const work = (name: string) => async () => {
    log.push(`${name} begins`);
    await Promise.resolve();
    log.push(`${name} ends`);
  };
  await Promise.all([
    locks.run("x", work("a")),
    locks.run("x", work("b")),
    locks.run("y", work("c")),
  ]);
  assertEquals(log.filter((line) => !line.startsWith("c")), [
    "a begins",
    "a ends",
    "b begins",
    "b ends",
  ]);
  assertEquals(log.indexOf("c begins") < log.indexOf("a ends"), true);
});

Deno.test("BlobLocks.run() lets the next one in when one fails", async () => {
  const locks = new BlobLocks();
  const failing = locks.run("x", () => Promise.reject(new Error("no disk")));
  const next = locks.run("x", () => Promise.resolve(7));
  await assertRejects(() => failing, Error, "no disk");
  assertEquals(await next, 7);
});
