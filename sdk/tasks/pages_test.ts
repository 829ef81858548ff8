import { assertEquals } from "@std/assert";
import { PagedList } from "./pages.ts";

function createList(pages: readonly (readonly number[])[]) {
  const asked: (string | undefined)[] = [];
  const list = new PagedList((cursor) => {
    asked.push(cursor);
    const at = Number(cursor ?? 0);
    const next = at + 1 < pages.length ? String(at + 1) : null;
    return Promise.resolve({ data: pages[at] ?? [], next });
  });
  return { list, asked };
}

Deno.test("PagedList gives the items of all pages, also behind empty ones", async () => {
  const { list, asked } = createList([[1, 2], [], [3]]);
  assertEquals(await Array.fromAsync(list), [1, 2, 3]);
  assertEquals(asked, [undefined, "1", "2"]);
  const pages = await Array.fromAsync(list.pages());
  assertEquals(pages.map(({ data }) => data), [[1, 2], [], [3]]);
});

Deno.test("PagedList.take() fetches no more pages than it needs", async () => {
  const { list, asked } = createList([[1, 2], [3], [4]]);
  assertEquals(await list.take(0), []);
  assertEquals(await list.take(2), [1, 2]);
  assertEquals(asked, [undefined]);
  assertEquals(await list.take(9), [1, 2, 3, 4]);
});
