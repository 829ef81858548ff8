import { assertEquals, assertMatch } from "@std/assert";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import { workerRoutes } from "./worker_routes.ts";

Deno.test("GET /v1/workers names the next page by an address that leads there", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const made: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const answer = await api.call("POST", "/v1/workers", { body: { name } });
    made.push(answer.textAt("id"));
  }
  const seen: unknown[] = [];
  let path: string | undefined = "/api/v1/workers?limit=1";
  while (path !== undefined) {
    const page = await api.call("GET", path);
    assertEquals(page.status, 200, path);
    seen.push(page.at("data", 0, "id"));
    const link = page.headers["link"];
    if (link !== undefined) assertMatch(link, /^<[^>]+>; rel="next"$/);
    const url = /^<([^>]+)>/.exec(link ?? "")?.[1];
    assertEquals(url === undefined, page.at("next") === null);
    path = url?.replace(`http://acme.${SERVICE_HOST}`, "");
  }
  assertEquals(seen.sort(), made.sort());
  await api.close();
});
