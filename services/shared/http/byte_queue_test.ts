import { assertEquals } from "@std/assert";
import { ByteQueue } from "./byte_queue.ts";

const text = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : new TextDecoder().decode(bytes);
const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("ByteQueue gives what waits in one piece when it is read", async () => {
  const queue = new ByteQueue();
  queue.put(bytes("a"));
  queue.put(bytes("bc"));
  assertEquals(queue.waitingBytes, 3);
  assertEquals(text(await queue.next()), "abc");
  assertEquals(queue.waitingBytes, 0);
  const next = queue.next();
  queue.put(bytes("d"));
  assertEquals(text(await next), "d");
});

Deno.test("ByteQueue ends after what waits when it is ended, and at once when it is cancelled", async () => {
  let ends = 0;
  const ended = new ByteQueue({ onEnd: () => ends++ });
  ended.put(bytes("a"));
  ended.end();
  ended.put(bytes("b"));
  assertEquals(text(await ended.next()), "a");
  assertEquals(await ended.next(), undefined);
  const gone = new ByteQueue({ onEnd: () => ends++ });
  const waiting = gone.next();
  gone.cancel();
  gone.cancel();
  assertEquals(await waiting, undefined);
  assertEquals(ends, 2);
});
