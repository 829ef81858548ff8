import { assertEquals } from "@std/assert";
import { FreshTexts } from "./job_sealer.ts";

Deno.test("FreshTexts remembers up to its bound and takes no more", () => {
  const fresh = new FreshTexts<{ readonly text: string }>(10);
  fresh.add("a", { text: "12345" });
  fresh.add("b", { text: "123456" });
  fresh.add("c", { text: "12345" });
  assertEquals(["a", "b", "c"].map((id) => fresh.get(id)?.text.length), [
    5,
    undefined,
    5,
  ]);
});

Deno.test("FreshTexts has room again for what was forgotten, and only once", () => {
  const fresh = new FreshTexts<{ readonly text: string }>(10);
  fresh.add("a", { text: "1234567890" });
  fresh.forget("a");
  fresh.forget("a");
  fresh.add("b", { text: "1234567890" });
  fresh.add("c", { text: "1" });
  assertEquals(["a", "b", "c"].map((id) => fresh.get(id) !== undefined), [
    false,
    true,
    false,
  ]);
});

Deno.test("FreshTexts counts what takes the place of the same job's once", () => {
  const fresh = new FreshTexts<{ readonly text: string }>(10);
  for (let round = 0; round < 5; round++) fresh.add("a", { text: "12345" });
  fresh.add("b", { text: "12345" });
  assertEquals(fresh.get("b")?.text, "12345");
});
