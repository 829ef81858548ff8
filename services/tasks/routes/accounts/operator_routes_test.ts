import { assert, assertEquals } from "@std/assert";
import { VERSION } from "../../../shared/version.ts";
import { hashSecret } from "../../access/credential_token.ts";
import { UNLIMITED_PLAN } from "../../domain/records.ts";
import { DUTIES } from "../../engine/parts.ts";
import type { ApiParts } from "../api_parts.ts";
import type { AnyRoute } from "../../http/route.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
} from "../testing/test_api.ts";
import type { TestAnswer, TestCall } from "../testing/test_caller.ts";
import { accountRoutes } from "../account/account_routes.ts";
import { auditRoute } from "../account/account_reports.ts";
import { listMembers } from "../users/testing/add_user.ts";
import { instancesRoute } from "../service/instance_routes.ts";
import { operatorRoutes } from "./operator_routes.ts";
import { signupRoute } from "./signup_route.ts";

const TOKEN = "operator-token-0123456789";
const DAY_MS = 86_400_000;

Deno.test("the operator's host lets nobody in but the operator", async () => {
  const api = await open();
  for (const key of [null, api.ownerKey, `${TOKEN}x`]) {
    for (const [method, path] of [["GET", "/"], ["DELETE", "/acme"]] as const) {
      const answer = await operate(api, method, path, { key });
      assertEquals([answer.status, answer.at("code")], [
        401,
        "invalid_credentials",
      ]);
    }
  }
  const list = await operate(api, "GET", "/");
  assertEquals(listMembers(list.at("data"), "domain"), ["acme"]);
  await api.close();
});

Deno.test("GET /v1/instances lists the running instances to the operator alone", async () => {
  const api = await open();
  await api.engine.start();
  const path = "/v1/instances";
  for (const key of [null, api.ownerKey]) {
    assertEquals((await operate(api, "GET", path, { key })).status, 401);
  }
  const { status, json } = await operate(api, "GET", path);
  assertEquals(status, 200);
  const { id } = api.engine.parts.instances;
  const [member] = api.engine.parts.instances.members;
  assertEquals(json, {
    data: [{
      id,
      epoch: 1,
      version: VERSION,
      address: "",
      joined_at: new Date(member?.joinedAtMs ?? 0).toISOString(),
      seen_at: new Date(member?.seenAtMs ?? 0).toISOString(),
      duties: [...DUTIES],
      is_answering: true,
    }],
  });
  await api.close();
});

Deno.test("GET / of the operator's host goes page by page", async () => {
  const api = await open();
  for (const domain of ["b", "c", "d", "e"]) await api.addTenant(domain);
  const first = await operate(api, "GET", "/?limit=3");
  const rest = await operate(
    api,
    "GET",
    `/?limit=3&cursor=${first.textAt("next")}`,
  );
  assertEquals(
    [first, rest].flatMap((page) => listMembers(page.at("data"), "domain")),
    ["acme", "b", "c", "d", "e"],
  );
  assertEquals(rest.at("next"), null);
  await api.close();
});

Deno.test("a tenant is read by its domain or id", async () => {
  const api = await open();
  const read = await operate(api, "GET", "/ACME");
  assertEquals(read.at("id"), api.tenant.id);
  const same = await operate(api, "GET", `/${api.tenant.id}`, {
    headers: { "if-none-match": read.headers["etag"] ?? "" },
  });
  assertEquals(same.status, 304);
  assertEquals((await operate(api, "GET", "/globex")).status, 404);
  await api.close();
});

Deno.test("a suspended tenant is answered nothing until it is resumed", async () => {
  const api = await open();
  assertEquals((await api.call("GET", "/v1/account")).status, 200);
  const suspended = await operate(api, "PUT", "/acme", {
    body: { status: "suspended" },
  });
  assertEquals([suspended.status, suspended.at("status")], [200, "suspended"]);
  const refused = await api.call("GET", "/v1/account");
  assertEquals([refused.status, refused.at("code")], [403, "tenant_suspended"]);
  await operate(api, "PUT", "/acme", { body: { status: null } });
  assertEquals((await api.call("GET", "/v1/account")).status, 200);
  const log = await api.call("GET", "/v1/audit");
  assertEquals(listMembers(log.at("data"), "action"), [
    "tenant.resumed",
    "tenant.suspended",
  ]);
  assertEquals(log.at("data", 0, "actor"), { type: "system", id: "operator" });
  await api.close();
});

Deno.test("PUT changes plan and time zone, and refuses what is none", async () => {
  const api = await open();
  const etag = (await operate(api, "GET", "/acme")).headers["etag"] ?? "";
  const changed = await operate(api, "PUT", "/acme", {
    body: { plan: "team", timezone: "Asia/Tokyo" },
    headers: { "if-match": etag },
  });
  assertEquals([changed.at("plan"), changed.at("timezone")], [
    "team",
    "Asia/Tokyo",
  ]);
  const stale = await operate(api, "PUT", "/acme", {
    body: { plan: "free" },
    headers: { "if-match": etag },
  });
  assertEquals(stale.status, 412);
  const cases: readonly (readonly [unknown, string])[] = [
    [{ plan: "gold" }, "unknown_plan"],
    [{ timezone: "Tokyo" }, "bad_timezone"],
    [{ status: "closing" }, "excluded"],
    [{ status: "gone" }, "unknown_choice"],
    [{ domain: "globex" }, "read_only"],
    [{ plna: "team" }, "unknown_field"],
  ];
  for (const [body, code] of cases) {
    const answer = await operate(api, "PUT", "/acme", { body });
    assertEquals(answer.status, 422, JSON.stringify(body));
    assertEquals(answer.at("errors", 0, "code"), code);
  }
  const reset = await operate(api, "PUT", "/acme", {
    body: { plan: null, timezone: null },
  });
  assertEquals([reset.at("plan"), reset.at("timezone")], ["free", "UTC"]);
  await api.close();
});

Deno.test("PUT takes a plan that is gone as long as it stays", async () => {
  const api = await open();
  await api.addTenant("globex", { plan: "gone" });
  const kept = await operate(api, "PUT", "/globex", {
    body: { plan: "gone", timezone: "Asia/Tokyo" },
  });
  assertEquals([kept.status, kept.at("plan")], [200, "gone"]);
  const unlimited = await operate(api, "PUT", "/globex", {
    body: { plan: "unlimited" },
  });
  assertEquals([unlimited.status, unlimited.at("plan")], [200, "unlimited"]);
  const back = await operate(api, "PUT", "/globex", { body: { plan: "gone" } });
  assertEquals(back.at("errors", 0, "code"), "unknown_plan");
  const made = await operate(api, "PUT", "/initech", {
    body: { plan: "gone" },
    headers: { "if-none-match": "*" },
  });
  assertEquals(made.at("errors", 0, "code"), "unknown_plan");
  await api.close();
});

Deno.test("PUT with If-None-Match makes a tenant, in whatever mode", async () => {
  const api = await open({ mode: "closed" });
  const path = "/globex";
  const missing = await operate(api, "PUT", path, { body: {} });
  assertEquals(missing.status, 404);
  const make = (): Promise<TestAnswer> =>
    operate(api, "PUT", path, {
      body: { plan: "team", timezone: "Asia/Tokyo" },
      headers: { "if-none-match": "*" },
    });
  const made = await make();
  assertEquals([made.status, made.at("plan")], [201, "team"]);
  assertEquals(made.at("timezone"), "Asia/Tokyo");
  const read = await api.call("GET", "/v1/account", {
    key: made.textAt("owner_key"),
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals(read.headers["etag"], made.headers["etag"]);
  assertEquals((await make()).status, 412);
  const reserved = await operate(api, "PUT", "/www", {
    body: {},
    headers: { "if-none-match": "*" },
  });
  assertEquals(reserved.at("errors", 0, "code"), "reserved_domain");
  await api.close();
});

Deno.test("DELETE takes a tenant out of service and destroys its data key", async () => {
  let removed = 0;
  const api = await open({ onRemoved: () => removed++ });
  const { store, repositories } = api.parts.engine.parts;
  const { writes } = await api.parts.vault.keys.ticket(api.tenant.id);
  await api.write(...writes);
  assertEquals((await api.call("GET", "/v1/account")).status, 200);
  const gone = await operate(api, "DELETE", "/acme");
  assertEquals([gone.status, removed], [204, 1]);
  assertEquals((await api.call("GET", "/v1/account")).status, 404);
  assertEquals(
    await repositories.dataKeys.get(api.tenant.id, "data"),
    undefined,
  );
  const mark = await store.record("service", "", `closing:${api.tenant.id}`);
  assertEquals(mark?.text, api.tenant.id);
  const read = await operate(api, "GET", "/acme");
  assertEquals([read.at("status"), read.at("url")], ["closing", null]);
  const again = await operate(api, "DELETE", "/acme");
  assertEquals([again.status, removed], [204, 1]);
  const change = await operate(api, "PUT", "/acme", {
    body: { timezone: "Asia/Tokyo" },
  });
  assertEquals([change.status, change.at("code")], [409, "wrong_state"]);
  await api.close();
});

Deno.test("DELETE removes nothing when the version of If-Match is another", async () => {
  let removed = 0;
  const api = await open({ onRemoved: () => removed++ });
  const refused = await operate(api, "DELETE", "/acme", {
    headers: { "if-match": '"99"' },
  });
  assertEquals([refused.status, removed], [412, 0]);
  assertEquals((await api.call("GET", "/v1/account")).status, 200);
  await api.close();
});

Deno.test("the domain of a removed tenant is reserved for 30 days and then anybody's", async () => {
  const api = await open();
  const signUp = (): Promise<TestAnswer> =>
    api.call("POST", "/", {
      body: { domain: "acme" },
      key: null,
      host: `accounts.${SERVICE_HOST}`,
    });
  await operate(api, "DELETE", "/acme");
  assertEquals((await signUp()).at("code"), "domain_taken");
  const byOperator = await operate(api, "PUT", "/acme", {
    body: {},
    headers: { "if-none-match": "*" },
  });
  assertEquals(byOperator.at("code"), "domain_taken");
  api.clock.advance(30 * DAY_MS - 1);
  assertEquals((await signUp()).status, 409);
  api.clock.advance(1);
  const answers = await Promise.all([signUp(), signUp(), signUp()]);
  assertEquals(
    answers.map(({ status }) => status).sort(),
    [201, 409, 409],
  );
  const made = answers.find(({ status }) => status === 201);
  assert(made !== undefined);
  // Keys of the removed tenant do not work for the new tenant.
  assertEquals((await api.call("GET", "/v1/account")).status, 401);
  const own = await api.call("GET", "/v1/account", {
    key: made.textAt("owner_key"),
  });
  assertEquals(own.at("id"), made.at("id"));
  const old = await operate(api, "GET", `/${api.tenant.id}`);
  assertEquals([old.at("status"), old.at("domain")], [
    "closing",
    api.tenant.id,
  ]);
  // The domain can be removed and taken a second time.
  await operate(api, "DELETE", "/acme");
  api.clock.advance(30 * DAY_MS);
  assertEquals((await signUp()).status, 201);
  await api.close();
});

function open(
  options: {
    readonly mode?: "open" | "closed";
    readonly onRemoved?: () => void;
  } = {},
): Promise<TestApi> {
  const { mode = "open", onRemoved } = options;
  return openTestApi({
    routes: (parts: ApiParts): readonly AnyRoute[] => [
      ...operatorRoutes(parts, onRemoved),
      signupRoute(parts),
      instancesRoute(parts),
      ...accountRoutes(parts),
      auditRoute(parts),
    ],
    plans: ["free", "team"].map((id) => ({ ...UNLIMITED_PLAN, id, name: id })),
    accounts: { mode },
    operatorDigests: [hashSecret(TOKEN)],
  });
}

function operate(
  api: TestApi,
  ...[method, path, call = {}]: [string, string, TestCall?]
): Promise<TestAnswer> {
  return api.call(method, path, {
    key: TOKEN,
    host: `accounts.admin.${SERVICE_HOST}`,
    ...call,
  });
}
