import { assertEquals } from "@std/assert";
import type { Mem, MemoryEntry } from "../../../mod.ts";
import { filterMemories, readListing } from "./listing.ts";

function entry(number: number, more: Partial<MemoryEntry> = {}): MemoryEntry {
  return {
    memory_id: `m${number}`,
    namespace_id: "default",
    blob_id: `b${number}`,
    created_at: new Date(2026, 6, number).toISOString(),
    updated_at: new Date(2026, 6, number).toISOString(),
    ...{ size: 1, agent_id: null, package_id: null, status: "active" },
    ...{ end_epoch: null, expires_at: null, importance: null },
    ...more,
  };
}

/** A client whose list has these pages. */
function listed(
  pages: readonly Partial<Awaited<ReturnType<Mem["listMemories"]>>>[],
): { readonly mem: Pick<Mem, "listMemories">; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    mem: {
      listMemories(options) {
        const at = asked.push(options?.cursor) - 1;
        const isLast = at >= pages.length - 1;
        return Promise.resolve({
          ...{ memories: [], deleted: [], snapshot_version: 1 },
          ...{ must_resync: false, has_more: !isLast },
          next_cursor: isLast ? null : String(at + 1),
          ...pages[Math.min(at, pages.length - 1)],
        });
      },
    },
  };
}

Deno.test("readListing() reads every page, and leaves out what was deleted meanwhile", async () => {
  const deleted = [
    { memory_id: "m1", namespace_id: "default", deleted_at: "2026-07-02" },
  ];
  const { mem, asked } = listed([
    { memories: [entry(1), entry(2)] },
    { memories: [entry(3)], deleted },
  ]);
  const { memories, isCut } = await readListing(mem);
  assertEquals(memories.map((one) => one.memory_id), ["m3", "m2"]);
  assertEquals([isCut, asked], [false, [undefined, "1"]]);
});

Deno.test("readListing() ends a list that has no end, and says so", async () => {
  const { mem, asked } = listed([
    { memories: [entry(1)], has_more: true, next_cursor: "more" },
  ]);
  assertEquals((await readListing(mem)).isCut, true);
  assertEquals(asked.length, 20);
});

Deno.test("filterMemories() takes namespace, status, parts of ids and whole days", () => {
  const memories = [
    entry(1),
    entry(2, { namespace_id: "work", status: "superseded" }),
    entry(3, { blob_id: "zz" }),
  ];
  const all = { namespace: "", status: "", id: "", from: "", until: "" };
  const find = (filter: Partial<typeof all>) =>
    filterMemories(memories, { ...all, ...filter })
      .map((one) => one.memory_id);
  assertEquals(find({}), ["m1", "m2", "m3"]);
  assertEquals(find({ namespace: "work" }), ["m2"]);
  assertEquals(find({ status: "active" }), ["m1", "m3"]);
  assertEquals(find({ id: "z" }), ["m3"]);
  assertEquals(find({ from: "2026-07-02" }), ["m2", "m3"]);
  assertEquals(find({ until: "2026-07-02" }), ["m1", "m2"]);
  assertEquals(find({ from: "no day" }), []);
});
