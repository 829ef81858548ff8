import { assertEquals, assertStrictEquals } from "@std/assert";
import { H2Stream, type StreamHost, StreamTable } from "./stream.ts";

const HOST: StreamHost = {
  answer: () => {},
  send: () => true,
  finish: () => {},
  release: () => {},
  expired: () => {},
};

Deno.test("StreamTable parks a stream that is not over when the next begins", () => {
  const parked: number[] = [];
  const table = new StreamTable(({ id }) => parked.push(id));
  const [first, second] = [createStream(1), createStream(3)];
  table.add(first);
  assertStrictEquals(table.get(1), first);
  assertEquals(parked, []);
  table.add(second);
  assertEquals(parked, [1]);
  assertStrictEquals(table.get(1), first);
  assertStrictEquals(table.get(3), second);
  assertEquals(table.close(second), true);
  assertEquals(table.close(second), false);
  assertEquals(parked, [1]);
  assertEquals([...table.open()], [first]);
  assertEquals(table.openCount, 1);
});

Deno.test("StreamTable counts closed streams on which somebody works", () => {
  const table = new StreamTable(() => {});
  const stream = createStream(1);
  table.add(stream);
  stream.isHeld = true;
  table.close(stream);
  assertEquals([table.openCount, table.busyCount], [0, 1]);
  table.release(stream);
  table.release(stream);
  assertEquals([table.openCount, table.busyCount], [0, 0]);
});

Deno.test("StreamTable.isRemembered() forgets the oldest", () => {
  const table = new StreamTable(() => {});
  for (let id = 1; id <= 1_025; id++) table.remember(id);
  assertEquals([1, 2, 1_025].map((id) => table.isRemembered(id)), [
    false,
    true,
    true,
  ]);
});

function createStream(id: number): H2Stream {
  return new H2Stream(HOST, {
    id,
    head: {
      state: 0,
      path: 0,
      timeoutMs: -1,
      contentLength: -1,
      isEncoded: false,
      kept: undefined,
    },
    sendWindow: 0,
    receiveWindow: 0,
  });
}
