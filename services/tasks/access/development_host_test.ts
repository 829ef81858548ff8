import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type RequestTarget, resolveTarget } from "./development_host.ts";
import type { HostOutcome } from "./host.ts";

const OFF = { serviceHost: "tasks.example.com" };
const ON = { ...OFF, devFallback: true };

function tenant(label: string): HostOutcome {
  return { kind: "tenant", label };
}

Deno.test("resolveTarget() goes by the host alone with the fallback off", () => {
  const hosts = ["acme.localhost:8070", "localhost", "127.0.0.1", "evil.com"];
  const paths = ["/t/acme/api/v1/tasks", "/accounts", "/accounts/admin", "/"];
  for (const host of hosts) {
    for (const path of paths) {
      assertEquals(
        resolveTarget({ host, path, xTenant: "acme" }, OFF),
        { part: { kind: "unknown" }, path, prefix: "" },
      );
    }
  }
  assertEquals(
    resolveTarget({
      host: "tasks.example.com",
      path: "/accounts",
      xTenant: "acme",
    }, OFF),
    { part: { kind: "apex" }, path: "/accounts", prefix: "" },
  );
});

Deno.test("resolveTarget() knows the names under localhost in development", () => {
  const path = "/api/v1/tasks";
  const cases: readonly [string, HostOutcome][] = [
    ["acme.localhost:8070", tenant("acme")],
    ["ACME.localhost.", tenant("acme")],
    ["accounts.localhost", { kind: "accounts" }],
    ["accounts.admin.localhost", { kind: "accounts_admin" }],
    ["localhost:8070", { kind: "apex" }],
    ["127.0.0.1:8070", { kind: "apex" }],
    ["[::1]:8070", { kind: "apex" }],
    ["evil.com", { kind: "unknown" }],
    ["a.b.localhost", { kind: "unknown" }],
    ["acme.localhost, b", { kind: "bad_host" }],
  ];
  for (const [host, part] of cases) {
    assertEquals(resolveTarget({ host, path }, ON), {
      part,
      path,
      prefix: "",
    }, host);
  }
});

Deno.test("resolveTarget() takes X-Tenant where the host names nothing", () => {
  const path = "/t/other/api/v1/tasks";
  function partFor(target: Partial<RequestTarget>): HostOutcome {
    return resolveTarget({ host: "localhost", path, ...target }, ON).part;
  }
  assertEquals(partFor({ xTenant: "Acme" }), tenant("acme"));
  assertEquals(partFor({ xTenant: ["acme"] }), tenant("acme"));
  assertEquals(partFor({ xTenant: "acme", host: "tasks:80" }), tenant("acme"));
  for (
    const xTenant of [
      ["a", "b"],
      "a, b",
      "accounts",
      "accounts.admin",
      "-a",
      "\u212a",
    ]
  ) {
    assertEquals(partFor({ xTenant }), { kind: "unknown" }, String(xTenant));
  }
  assertEquals(partFor({ xTenant: "acme", host: "b.localhost" }), tenant("b"));
  assertEquals(
    partFor({ xTenant: "acme", host: "b.tasks.example.com" }),
    tenant("b"),
  );
  for (const xTenant of [[], "", null, undefined]) {
    assertEquals(partFor({ xTenant }), tenant("other"));
  }
});

Deno.test("resolveTarget() takes the tenant out of the path in development", () => {
  const cases: readonly [string, HostOutcome, string, string][] = [
    ["/t/acme/api/v1/tasks", tenant("acme"), "/api/v1/tasks", "/t/acme"],
    ["/t/ACME/api/v1/tasks/", tenant("acme"), "/api/v1/tasks/", "/t/ACME"],
    ["/t/acme/", tenant("acme"), "/", "/t/acme"],
    ["/t/acme", tenant("acme"), "/", "/t/acme"],
    ["/t/acme//x", tenant("acme"), "//x", "/t/acme"],
    ["/t/acme/t/b", tenant("acme"), "/t/b", "/t/acme"],
    ["/t/", { kind: "unknown" }, "/t/", ""],
    ["/t/a%2Fb/api", { kind: "unknown" }, "/t/a%2Fb/api", ""],
    ["/t/accounts/x", { kind: "unknown" }, "/t/accounts/x", ""],
    ["/accounts", { kind: "accounts" }, "/", "/accounts"],
    ["/accounts/", { kind: "accounts" }, "/", "/accounts"],
    ["/accounts/x", { kind: "accounts" }, "/x", "/accounts"],
    ["/accounts/admin", { kind: "accounts_admin" }, "/", "/accounts/admin"],
    [
      "/accounts/admin/acme",
      { kind: "accounts_admin" },
      "/acme",
      "/accounts/admin",
    ],
    [
      "/accounts/administrator",
      { kind: "accounts" },
      "/administrator",
      "/accounts",
    ],
    ["/accountsx", { kind: "apex" }, "/accountsx", ""],
    ["/plans", { kind: "apex" }, "/plans", ""],
    ["/tx/acme", { kind: "apex" }, "/tx/acme", ""],
  ];
  for (const [path, part, rest, prefix] of cases) {
    assertEquals(
      resolveTarget({ host: "localhost:8070", path }, ON),
      { part, path: rest, prefix },
      path,
    );
  }
});

Deno.test("resolveTarget() always leaves a path that is the end of the one given", () => {
  const random = new SeededRandom(5);
  const pieces = ["/", "t", "acme", "accounts", "admin", "api", "%2f", ".."];
  const hosts = ["localhost", "acme.localhost", "tasks.example.com", "x y"];
  for (let round = 0; round < 20_000; round++) {
    const path = `/${random.list(8, () => random.pick(pieces)).join("")}`;
    const resolved = resolveTarget({ host: random.pick(hosts), path }, ON);
    assert(resolved.path.startsWith("/"), path);
    assert(path.endsWith(resolved.path) || resolved.path === "/", path);
  }
});
