import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { ByteStream } from "../http/exchange.ts";
import { EventStream, readEventId } from "./event_stream.ts";

const KEEP_ALIVE_MS = 3_000;

function open(
  options: Partial<ConstructorParameters<typeof EventStream>[0]> = {},
) {
  const clock = new FakeClock();
  const keepAliveMs = KEEP_ALIVE_MS;
  return {
    clock,
    stream: new EventStream({ clock, keepAliveMs, ...options }),
  };
}

async function next(reader: ByteStream): Promise<string | undefined> {
  const bytes = await reader.next();
  return bytes && new TextDecoder().decode(bytes);
}

function notification(text: string) {
  return { jsonrpc: "2.0", method: "a", params: { text } } as const;
}

Deno.test("EventStream writes events, and comments while nothing is sent", async () => {
  const { stream, clock } = open();
  stream.event("endpoint", "/messages?sessionId=a");
  const reader = stream.read();
  assertEquals(
    await next(reader),
    "event: endpoint\ndata: /messages?sessionId=a\n\n",
  );
  clock.advance(KEEP_ALIVE_MS);
  assertEquals(await next(reader), ":\n\n");
  stream.answer({ jsonrpc: "2.0", id: 1, result: {} });
  stream.end();
  assertEquals(
    await next(reader),
    'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
  );
  assertEquals(await next(reader), undefined);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("EventStream goes on behind an event when its client comes again", async () => {
  const { stream, clock } = open({ name: "7" });
  stream.prime();
  const first = stream.read();
  assertEquals(await next(first), "retry: 1000\nid: 7-1\ndata: \n\n");
  stream.notify(notification("lost"));
  first.cancel();
  stream.answer({ jsonrpc: "2.0", id: 1, result: {} });
  stream.end();
  assertEquals(readEventId("7-1"), { name: "7", number: 1 });
  const again = await next(stream.read(1)) ?? "";
  assertStringIncludes(again, "id: 7-2\n");
  assertStringIncludes(again, "id: 7-3\n");
  assert(!again.includes("id: 7-1\n"));
  assertEquals(await next(stream.read(3)), undefined);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("EventStream leaves notifications out, and then cuts off, when its client reads slowly", async () => {
  let lost = 0;
  const { stream } = open({ onLost: () => lost++ });
  const reader = stream.read();
  const long = "x".repeat(100_000);
  for (let index = 0; index < 20; index++) stream.notify(notification(long));
  const waited = await reader.next();
  assert(waited !== undefined && waited.length < 500_000, "bounded");
  stream.answer({ jsonrpc: "2.0", id: 1, result: { long } });
  assertStringIncludes(await next(reader) ?? "", '"result"');
  for (let index = 0; index < 100; index++) {
    stream.answer({ jsonrpc: "2.0", id: index, result: { long } });
  }
  assertEquals(lost, 1);
  assertEquals(await reader.next(), undefined);
});

Deno.test("readEventId() refuses what is no id", () => {
  for (const id of ["", "1", "-1", "a-b", `${"x".repeat(200)}-1`]) {
    assertEquals(readEventId(id), undefined, id);
  }
});
