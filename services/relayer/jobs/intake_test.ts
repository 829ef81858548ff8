import { assert, assertEquals, assertMatch } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { jobId } from "./intake.ts";

const FORM =
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

Deno.test("jobId() makes UUIDs of version 7 that sort by their time", () => {
  const random = new SeededRandom(7);
  const bytes = () => Uint8Array.from({ length: 10 }, () => random.below(256));
  const times = Array.from({ length: 200 }, (_, index) => 1_7e11 + index * 97);
  const ids = times.map((time) => jobId(time, bytes()));
  for (const id of ids) assertMatch(id, FORM);
  assertEquals([...ids].sort(), ids);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("jobId() holds the time in its first 48 bits", () => {
  const id = jobId(0x0123456789ab, new Uint8Array(10));
  assertEquals(id.slice(0, 13), "01234567-89ab");
  assert(id.endsWith("-7000-8000-000000000000"));
});
