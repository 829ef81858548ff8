import { assertEquals } from "@std/assert";
import { filterOf, toBulkFilter, toListQuery } from "./task_filter.ts";

Deno.test("filterOf() keeps the parameters of the filter that have a value", () => {
  const query = new URLSearchParams(
    "status=failed&job=&worker=+mailer+&sort=date&cursor=x&evil=1&metadata=a%3Db",
  );
  assertEquals(
    filterOf(query).toString(),
    "status=failed&worker=mailer&metadata=a%3Db",
  );
});

Deno.test("toListQuery() and toBulkFilter() say the same of labels and lists", () => {
  const filter = new URLSearchParams({
    status: "failed, expired",
    tag: "a",
    key: "x, y",
    metadata: "plan=pro, region = eu , url=a=b, bare",
  });
  assertEquals(Object.fromEntries(toListQuery(filter)), {
    status: "failed, expired",
    tag: "a",
    key: "x, y",
    "metadata.plan": "pro",
    "metadata.region": "eu",
    "metadata.url": "a=b",
    "metadata.bare": "",
  });
  assertEquals(toBulkFilter(filter), {
    status: ["failed", "expired"],
    tag: ["a"],
    key: "x, y",
    metadata: { plan: "pro", region: "eu", url: "a=b", bare: "" },
  });
});
