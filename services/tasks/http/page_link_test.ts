import { assertEquals } from "@std/assert";
import { nextPageLink, nextPageUrl } from "./page_link.ts";

Deno.test("nextPageUrl() replaces the cursor and keeps the rest as it was", () => {
  const url = "https://acme.example.com/api/v1/tasks";
  const cursor = "new_1";
  const next = (rawQuery: string): string =>
    nextPageUrl({ url, rawQuery, cursor });
  assertEquals(next(""), `${url}?cursor=new_1`);
  assertEquals(
    next("cursor=old&status=a%2Cb&&limit=5&cursor"),
    `${url}?status=a%2Cb&limit=5&cursor=new_1`,
  );
  assertEquals(
    nextPageLink({ url, rawQuery: 'key=a>b", <x\r\n', cursor }),
    `<${url}?key=a%3Eb%22,%20%3Cx%0D%0A&cursor=new_1>; rel="next"`,
  );
});
