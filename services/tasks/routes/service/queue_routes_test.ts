import { assertEquals } from "@std/assert";
import { hashSecret } from "../../access/credential_token.ts";
import { openTestApi } from "../testing/test_api.ts";
import { taskRoutes } from "../tasks/task_routes.ts";
import { openOperations } from "../tasks/bulk_routes.ts";
import { queuesRoute } from "./queue_routes.ts";

const TOKEN = "operator-token-of-these-tests-0123456789";

Deno.test("GET /v1/queues lists tenants with live tasks, the longest first", async () => {
  const api = await openTestApi({
    operatorDigests: [hashSecret(TOKEN)],
    routes: (parts) => [
      ...taskRoutes(parts, { operations: openOperations(parts.engine) }),
      queuesRoute(parts),
    ],
  });
  const globex = await api.addTenant("globex");
  await api.addTenant("initech");
  const { tenant: { id: tenantId } } = globex;
  await api.addWorker({ name: "mailer" });
  await api.addWorker({ name: "mailer", tenantId });
  const body = { worker: "mailer" };
  await api.call("POST", "/v1/tasks", { body });
  const host = "globex.tercet.test";
  for (const date of ["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]) {
    await api.call("POST", "/v1/tasks", {
      host,
      key: globex.ownerKey,
      body: { ...body, date },
    });
  }
  const answer = await api.call("GET", "/v1/queues", {
    host: "accounts.admin.tercet.test",
    key: TOKEN,
  });
  assertEquals(answer.at("total"), 2);
  assertEquals(answer.at("data", 0, "domain"), "globex");
  assertEquals(answer.at("data", 0, "counts"), { waiting: 1, scheduled: 1 });
  assertEquals(answer.at("data", 1, "domain"), "acme");
  assertEquals(answer.at("data", 1, "counts"), { waiting: 1 });
  const refused = await api.call("GET", "/v1/queues", {
    host: "accounts.admin.tercet.test",
  });
  assertEquals(refused.status, 401);
  await api.close();
});
