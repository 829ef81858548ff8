import { assertEquals } from "@std/assert";
import { RecentPlaintexts } from "./job_sealer.ts";

Deno.test("RecentPlaintexts remembers up to its bound and takes no more", () => {
  const recent = new RecentPlaintexts<{ readonly text: string }>(10);
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
  const recent = new RecentPlaintexts<{ readonly text: string }>(10);
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
  const recent = new RecentPlaintexts<{ readonly text: string }>(10);
  for (let round = 0; round < 5; round++) recent.add("a", { text: "12345" });
  recent.add("b", { text: "12345" });
  assertEquals(recent.get("b")?.text, "12345");
});
