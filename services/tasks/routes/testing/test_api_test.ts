import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { object, optional } from "../../../shared/schema/object.ts";
import { querySchema } from "../../../shared/schema/query.ts";
import { text } from "../../../shared/schema/values.ts";
import { getCaller, getTenant } from "../../http/call.ts";
import { json } from "../../http/answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { openTestApi, SERVICE_HOST } from "./test_api.ts";

Deno.test("openTestApi() answers by tenant and key", async () => {
  const api = await openTestApi({ routes: whoRoutes });
  const other = await api.addTenant("globex");
  const answer = await api.call("GET", "/v1/who");
  assertEquals(answer.status, 200);
  assertEquals(answer.at("tenant"), api.tenant.id);
  const stranger = await api.call("GET", "/v1/who", { key: other.ownerKey });
  assertEquals(stranger.status, 401);
  const own = await api.call("GET", "/v1/who", {
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals(own.textAt("tenant"), other.tenant.id);
  assertEquals((await api.call("GET", "/v1/who", { key: null })).status, 401);
  assertEquals((await api.call("GET", "/v1/nothing")).status, 404);
  await api.close();
});

Deno.test("TestCaller.call() refuses an answer that is not as documented", async () => {
  const api = await openTestApi({ routes: whoRoutes });
  const error = await assertRejects(() => api.call("GET", "/v1/who?wrong=1"));
  assertStringIncludes(String(error), "/key");
  await api.close();
});

function whoRoutes(): readonly AnyRoute[] {
  const shape = object({ tenant: text() });
  return [
    defineRoute({
      method: "GET",
      path: "/v1/who",
      hosts: "tenant",
      operationId: "whoAmI",
      summary: "Read the caller",
      tags: ["test"],
      access: { kind: "member", role: "viewer", scope: "tasks:read" },
      query: querySchema({ wrong: optional(text()) }),
      answers: {
        200: { description: "Who", shape, example: { tenant: "ten_1" } },
      },
      problems: [],
      handle: (call) =>
        json({
          tenant: getTenant(call).id,
          ...(call.query.wrong === undefined
            ? {}
            : { key: getCaller(call).kind }),
        }),
    }),
  ];
}
