import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { EventStream } from "./event_stream.ts";
import { McpServer } from "./server.ts";
import { McpSessions, type SessionLimits } from "./sessions.ts";

const OWNER = new Uint8Array(32);
const MINUTE_MS = 60_000;

function open(limits: SessionLimits = {}) {
  const clock = new FakeClock();
  let ids = 0;
  const server = new McpServer<undefined>({
    catalog: {
      info: { name: "test", title: "Test", version: "1" },
      instructions: "",
      tools: [],
    },
    clock,
  });
  const sessions = new McpSessions({
    ...{ server, clock, newId: () => `s${++ids}` },
    ...limits,
  });
  const kindOf = (group: string) => {
    const opened = sessions.open(OWNER, group);
    return opened.kind === "ok" ? opened.session.id : opened.retryAfterMs;
  };
  return { clock, sessions, kindOf };
}

Deno.test("McpSessions opens no more than a group may have and may open in a minute", () => {
  const { sessions, kindOf, clock } = open({
    ...{ maxPerGroup: 2, newPerMinute: 4 },
  });
  assertEquals([kindOf("a"), kindOf("a")], ["s1", "s2"]);
  assertEquals(kindOf("a"), MINUTE_MS, "the group is full");
  const session = sessions.find("s1");
  if (session !== undefined) sessions.end(session);
  assertEquals(kindOf("a"), "s3");
  assertEquals(kindOf("a"), 15_000, "the rate is used up");
  assertEquals(kindOf("b"), "s4");
  clock.advance(15_000);
  assertEquals(kindOf("a"), MINUTE_MS);
});

Deno.test("McpSessions ends the one that is idle longest when a group is full", () => {
  const { sessions, kindOf, clock } = open({ maxPerGroup: 2 });
  kindOf("a");
  kindOf("a");
  kindOf("b");
  clock.advance(MINUTE_MS);
  sessions.find("s1");
  assertEquals(kindOf("a"), "s4");
  assertEquals(sessions.find("s2"), undefined);
  assertEquals(sessions.find("s1")?.id, "s1");
  assertEquals(sessions.size, 3);
});

Deno.test("McpSessions keeps a session with an open stream when others are idle", () => {
  const { sessions, kindOf, clock } = open({
    ...{ maxSessions: 2, idleMs: 5 * MINUTE_MS },
  });
  kindOf("a");
  kindOf("b");
  const stream = new EventStream({ clock, keepAliveMs: 1_000 });
  sessions.find("s1")?.streams.add(stream);
  assertEquals(kindOf("c"), MINUTE_MS, "there are as many as are allowed");
  clock.advance(5 * MINUTE_MS);
  assertEquals(sessions.find("s2"), undefined, "idle for too long");
  assertEquals(kindOf("c"), "s3");
  assertEquals(sessions.find("s1")?.id, "s1");
  sessions.endAll();
  assertEquals([sessions.size, stream.isEnded], [0, true]);
});

Deno.test("endOf() ends the sessions of one credential and no other ones", () => {
  const { sessions, kindOf } = open();
  kindOf("a");
  const other = sessions.open(new Uint8Array(32).fill(1), "a");
  kindOf("b");
  sessions.endOf(OWNER);
  assertEquals(sessions.size, 1);
  assertEquals(
    other.kind === "ok" && sessions.find(other.session.id)?.id,
    "s2",
  );
  sessions.endOf(new Uint8Array(4));
  assertEquals(sessions.size, 1);
});
