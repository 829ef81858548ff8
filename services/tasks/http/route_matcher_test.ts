import { assertEquals, assertThrows } from "@std/assert";
import type { RouteFacts } from "./route.ts";
import { createMatcher } from "./route_matcher.ts";

type Routable = Pick<
  RouteFacts,
  "method" | "path" | "hosts" | "isOutsideBase"
>;

interface Entry extends Routable {
  readonly name: string;
}

const TABLE: readonly Entry[] = [
  entry("GET", "/v1/tasks", "list"),
  entry("POST", "/v1/tasks", "create"),
  entry("GET", "/v1/tasks/:id", "read"),
  entry("DELETE", "/v1/tasks/:id", "remove"),
  entry("POST", "/v1/tasks/batch", "batch"),
  entry("POST", "/v1/tasks/:id/cancel", "cancel"),
  entry("GET", "/v1/workers/:id/secrets/:name", "secret"),
  { ...entry("GET", "/healthz", "health"), hosts: "any" },
  { ...entry("GET", "/", "dashboard"), isOutsideBase: true },
  { ...entry("POST", "/", "signUp"), hosts: "accounts" },
  { ...entry("GET", "/", "tenants"), hosts: "accounts_admin" },
  { ...entry("GET", "/:domain", "tenant"), hosts: "accounts_admin" },
];
const MATCHER = createMatcher(TABLE);

Deno.test("match() finds the route and its parameters", () => {
  assertEquals(find("GET /api/v1/tasks"), "list {}");
  assertEquals(find("GET /api/v1/tasks/tsk_1"), 'read {"id":"tsk_1"}');
  assertEquals(find("DELETE /api/v1/tasks/a%20b"), 'remove {"id":"a b"}');
  assertEquals(find("GET /api/v1/tasks/a%2Fb"), 'read {"id":"a/b"}');
  assertEquals(
    find("GET /api/v1/workers/w/secrets/KEY"),
    'secret {"id":"w","name":"KEY"}',
  );
  assertEquals(find("GET /api/v1/%74asks"), "list {}");
});

Deno.test("match() sends a slash at the end away, where there is something", () => {
  assertEquals(find("POST /api/v1/tasks/"), "308 /api/v1/tasks");
  assertEquals(find("GET /api/v1/tasks/a%20b/"), "308 /api/v1/tasks/a%20b");
  assertEquals(find("GET /healthz/"), "308 /healthz");
  for (
    const path of ["/api/v1/tasks//", "/nothing/", "//evil.example/", "//"]
  ) {
    assertEquals(find(`GET ${path}`), "404", path);
  }
});

Deno.test("match() finds nothing for what is no path of the table", () => {
  for (
    const path of [
      "/v1/tasks",
      "/api/V1/tasks",
      "/api/v1/Tasks",
      "/api/v1//tasks",
      "/api/v1/tasks/%zz",
      "/api/v1/tasks/%C3",
      "/api/v1/tasks/x/y",
      "/api",
      "/api/",
      "",
      "*",
      "api/v1/tasks",
      "/__proto__",
      "/api/healthz",
    ]
  ) assertEquals(find(`GET ${path}`), "404", path);
});

Deno.test("createMatcher() throws for two routes of one method and path", () => {
  const double = [entry("GET", "/a/:id", "x"), entry("GET", "/a/:name", "y")];
  assertThrows(() => createMatcher(double), TypeError, "it is there already");
  assertThrows(() => createMatcher([entry("GET", "a", "x")]), TypeError);
});

Deno.test("on() keeps hosts apart", () => {
  assertEquals(find("GET /"), "dashboard {}");
  assertEquals(find("POST /", "accounts"), "signUp {}");
  assertEquals(find("GET /", "accounts_admin"), "tenants {}");
  assertEquals(find("GET /acme", "accounts_admin"), 'tenant {"domain":"acme"}');
  assertEquals(find("GET /acme", "accounts"), "404");
  assertEquals(find("GET /healthz", "apex"), "health {}");
  assertEquals(find("GET /healthz", "accounts_admin"), "health {}");
});

function entry(
  method: Routable["method"],
  path: string,
  name: string,
): Entry {
  return { method, path, name, hosts: "tenant" };
}

function find(
  request: string,
  host: "tenant" | "accounts" | "accounts_admin" | "apex" = "tenant",
): string {
  const [method = "", path = ""] = request.split(" ");
  const match = MATCHER.on(host).match(method, path);
  switch (match.kind) {
    case "route":
      return `${match.route.name} ${JSON.stringify(match.params)}`;
    case "redirect":
      return `308 ${match.path}`;
    case "method_not_allowed":
      return `405 ${match.allow}`;
    case "not_found":
      return "404";
  }
}
