import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { DynamicTable, STATIC_FIELDS, type TableEntry } from "./hpack_table.ts";

Deno.test("STATIC_FIELDS has 61 entries with the indexes of RFC 7541", () => {
  assertEquals(STATIC_FIELDS.length, 61);
  for (
    const [index, name] of [
      [1, ":authority"],
      [8, ":status"],
      [16, "accept-encoding"],
      [31, "content-type"],
      [38, "host"],
      [51, "referer"],
      [58, "user-agent"],
      [61, "www-authenticate"],
    ] as const
  ) assertEquals(STATIC_FIELDS[index - 1]?.[0], name);
});

Deno.test("DynamicTable does what a list would do", () => {
  const random = new SeededRandom(4);
  for (let round = 0; round < 100; round++) {
    const table = new DynamicTable<number>();
    let list: TableEntry<number>[] = [];
    let maxBytes = 4_096;
    for (let step = 0; step < 200; step++) {
      if (random.chance(0.05)) {
        maxBytes = random.below(4_097);
        assert(table.resize(maxBytes));
      } else {
        const nameBytes = random.below(random.chance(0.1) ? 5_000 : 40);
        const sizeBytes = nameBytes + 32;
        const entry = { nameKind: 0, nameBytes, meaning: step, sizeBytes };
        table.add(entry);
        list = [entry, ...list];
      }
      while (sizeOf(list) > maxBytes) list.pop();
      assertEquals(table.count, list.length);
      assertEquals(table.sizeBytes, sizeOf(list));
      const at = random.below(list.length + 1);
      assertEquals(table.at(at)?.meaning, list[at]?.meaning);
    }
  }
});

Deno.test("DynamicTable tells each change by its generation", () => {
  const table = new DynamicTable<number>();
  const seen = new Set([table.generation]);
  table.add({ nameKind: 0, nameBytes: 1, meaning: 0, sizeBytes: 33 });
  seen.add(table.generation);
  table.resize(100);
  seen.add(table.generation);
  assertEquals(seen.size, 3);
  assertEquals(table.resize(4_097), false);
});

function sizeOf(list: readonly TableEntry<number>[]): number {
  return list.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
