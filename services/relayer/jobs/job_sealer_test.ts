import { assert, assertEquals, assertMatch } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { JobIds, RecentPlaintexts } from "./job_sealer.ts";

Deno.test("RecentPlaintexts remembers up to its bound and takes no more", () => {
  const recent = new RecentPlaintexts<{ readonly text: string }>(
    10,
    new FakeClock(),
  );
  recent.add("a", { text: "12345" });
  recent.add("b", { text: "123456" });
  recent.add("c", { text: "12345" });
  assertEquals(["a", "b", "c"].map((id) => recent.get(id)?.text.length), [
    5,
    undefined,
    5,
  ]);
});

Deno.test("RecentPlaintexts has room again for what was forgotten, and only once", () => {
  const recent = new RecentPlaintexts<{ readonly text: string }>(
    10,
    new FakeClock(),
  );
  recent.add("a", { text: "1234567890" });
  recent.forget("a");
  recent.forget("a");
  recent.add("b", { text: "1234567890" });
  recent.add("c", { text: "1" });
  assertEquals(["a", "b", "c"].map((id) => recent.get(id) !== undefined), [
    false,
    true,
    false,
  ]);
});

Deno.test("RecentPlaintexts counts what takes the place of the same job's once", () => {
  const recent = new RecentPlaintexts<{ readonly text: string }>(
    10,
    new FakeClock(),
  );
  for (let round = 0; round < 5; round++) recent.add("a", { text: "12345" });
  recent.add("b", { text: "12345" });
  assertEquals(recent.get("b")?.text, "12345");
});

const FORM =
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

Deno.test("JobIds.next() makes UUIDs of version 7 that sort in their order, whatever the clock says", () => {
  const random = new SeededRandom(7);
  let nowMs = 1.7e12;
  const clock = { nowMs: () => nowMs };
  const ids = new JobIds({ clock, randomBytes: (n) => random.bytes(n) });
  const made: string[] = [];
  for (let round = 0; round < 60; round++) {
    // Once, more ids in one millisecond than the counter has room for.
    const count = round === 30 ? 10_000 : 3;
    for (let at = 0; at < count; at++) made.push(ids.next());
    nowMs += [1, 0, 97, -5_000][round % 4] ?? 0;
  }
  for (const id of made) assertMatch(id, FORM);
  assertEquals([...made].sort(), made);
  assertEquals(new Set(made).size, made.length);
  const last = made.map((id) => id.slice(20));
  assertEquals(new Set(last).size, made.length);
});

Deno.test("JobIds.next() holds the time in its first 48 bits", () => {
  const ids = new JobIds({
    clock: { nowMs: () => 0x0123456789ab },
    randomBytes: (length) => new Uint8Array(length),
  });
  const id = ids.next();
  assertEquals(id.slice(0, 13), "01234567-89ab");
  assert(id.endsWith("-7000-8000-000000000000"));
});
