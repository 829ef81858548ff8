import { assert, assertEquals, assertMatch } from "@std/assert";
import { createAllowList } from "../../delivery/testing/create_allow_list.ts";
import { startWorker } from "../../delivery/testing/worker_server.ts";
import { PushCaller } from "../../delivery/push_call.ts";
import { listFaults } from "../tasks/testing/tasks_api.ts";
import { openTestApi } from "../testing/test_api.ts";
import { alertRoutes } from "./alert_routes.ts";

const WHEN = { count: "failed", over: 10, within: "PT5M" } as const;
const SLACK = {
  url: "https://hooks.example.com/x",
  template: "slack",
} as const;

Deno.test("the routes of alerts make, list, read, change and remove one", async () => {
  const api = await openTestApi({ routes: alertRoutes });
  const worker = await api.addWorker();
  const made = await api.call("POST", "/v1/alerts", {
    body: { when: { ...WHEN, worker: "mailer", job: "j" }, send: SLACK },
  });
  assertEquals(made.status, 201, made.text);
  assertEquals(made.at("signing_secret"), null);
  assertEquals(made.at("when"), { ...WHEN, worker: worker.id, job: "j" });
  assertEquals(made.at("send"), { ...SLACK, has_authorization: false });
  const path = `/v1/alerts/${made.textAt("id")}`;
  const read = await api.call("GET", path);
  assertEquals([read.at("raised_at"), read.at("quiet")], [null, "PT5M"]);
  const list = await api.call("GET", "/v1/alerts");
  assertEquals(list.at("data", 0), read.json);
  const changed = await api.call("PATCH", path, {
    body: {
      when: { nothing: "completed", for: "PT10M" },
      send: { url: SLACK.url },
    },
  });
  assertEquals(changed.status, 200, changed.text);
  assertEquals(
    changed.at("condition"),
    "no tasks were completed within 10 minutes",
  );
  // A receiver of Standard Webhooks needs a secret.
  assertMatch(changed.textAt("signing_secret"), /^whsec_/);
  assertEquals((await api.call("DELETE", path)).status, 204);
  assertEquals((await api.call("GET", path)).status, 404);
  await api.close();
});

Deno.test("POST /v1/alerts refuses conditions, addresses and templates that cannot be", async () => {
  const api = await openTestApi({ routes: alertRoutes });
  const faults = async (body: unknown): Promise<unknown> =>
    listFaults(await api.call("POST", "/v1/alerts", { body }));
  for (
    const [when, send, fault] of [
      [{ count: "failed" }, SLACK, ["/when", "bad_condition"]],
      [{ ...WHEN, for: "PT1M" }, SLACK, ["/when", "bad_condition"]],
      [
        { nothing: "created", for: "PT1M", over: 1 },
        SLACK,
        ["/when", "bad_condition"],
      ],
      [{ ...WHEN, job: "j" }, SLACK, ["/when/job", "needs_worker"]],
      [{ ...WHEN, within: "PT1S" }, SLACK, ["/when/within", "too_small"]],
      [{ ...WHEN, worker: "x" }, SLACK, ["/when/worker", "unknown_worker"]],
      [WHEN, { url: "https://127.0.0.1/" }, [
        "/send/url",
        "address_not_public",
      ]],
      [WHEN, { ...SLACK, template: "email" }, ["/send/from", "bad_template"]],
      [
        WHEN,
        { ...SLACK, from: "a@b.example", to: "c@b.example" },
        ["/send/to", "bad_template"],
      ],
    ] as const
  ) {
    assertEquals(await faults({ when, send }), [fault]);
  }
  await api.close();
});

Deno.test("alerts keep their header only while they have the same URL, and never show it", async () => {
  const got: unknown[] = [];
  await using server = await startWorker((request, response) => {
    got.push(request.headers["authorization"]);
    response.end("ok");
  });
  const targets = {
    allowHttp: true,
    allowList: createAllowList("127.0.0.1"),
  };
  const api = await openTestApi({
    routes: alertRoutes,
    targets,
    caller: new PushCaller(targets),
  });
  const url = `http://127.0.0.1:${server.port}/a`;
  const made = await api.call("POST", "/v1/alerts", {
    body: {
      when: WHEN,
      send: { ...SLACK, url, authorization: "Bearer sesame" },
    },
  });
  assertEquals(made.status, 201, made.text);
  assert(!made.text.includes("sesame"));
  const path = `/v1/alerts/${made.textAt("id")}`;
  const send = async (body: unknown): Promise<unknown> => {
    const changed = await api.call("PATCH", path, { body: { send: body } });
    assertEquals(changed.status, 200, changed.text);
    const tested = await api.call("POST", `${path}/test`);
    assertEquals(tested.at("outcome"), "delivered");
    return [changed.at("send", "has_authorization"), got.at(-1)];
  };
  assertEquals(await send({ ...SLACK, url }), [true, "Bearer sesame"]);
  assertEquals(await send({ ...SLACK, url: `${url}b` }), [false, undefined]);
  await api.close();
});

Deno.test("alerts need the right to read tasks, and end at 50", async () => {
  const api = await openTestApi({ routes: alertRoutes });
  const key = await api.addKey({ role: undefined, scopes: ["webhooks:write"] });
  const body = { when: WHEN, send: SLACK };
  const denied = await api.call("POST", "/v1/alerts", { body, key });
  assertEquals([denied.status, denied.at("scope")], [403, "tasks:read"]);
  for (let count = 0; count < 50; count++) {
    assertEquals((await api.call("POST", "/v1/alerts", { body })).status, 201);
  }
  const full = await api.call("POST", "/v1/alerts", { body });
  assertEquals(full.at("code"), "quota_exceeded");
  await api.close();
});
