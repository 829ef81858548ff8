import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  allows,
  missingScope,
  parseScopes,
  ROLES,
  type Scope,
  SCOPES,
  scopesOfKey,
  scopesOfRole,
} from "./scope.ts";

Deno.test("allows() puts the roles in their order", () => {
  assertEquals(ROLES, ["viewer", "member", "admin", "owner"]);
  for (const [place, role] of ROLES.entries()) {
    for (const [neededPlace, needed] of ROLES.entries()) {
      assertEquals(allows(role, needed), place >= neededPlace);
    }
  }
});

Deno.test("scopesOfRole() gives each role what the one before it has, and more", () => {
  const gained: readonly (readonly Scope[])[] = [
    ["tasks:read", "workers:read", "users:read", "account:read"],
    ["tasks:write"],
    [
      "workers:write",
      "leases:write",
      "secrets:read",
      "secrets:write",
      "users:write",
      "keys:read",
      "keys:write",
      "audit:read",
      "webhooks:read",
      "webhooks:write",
    ],
    ["account:write"],
  ];
  const expected = new Set<Scope>();
  for (const [place, role] of ROLES.entries()) {
    for (const scope of gained[place] ?? []) expected.add(scope);
    assertEquals(scopesOfRole(role), expected, role);
  }
  assertEquals(scopesOfRole("owner"), new Set(SCOPES));
});

Deno.test("parseScopes() spells out wildcards and keeps the list as written", () => {
  const outcome = parseScopes(["workers:*", "tasks:read", "tasks:read"]);
  assert(outcome.kind === "ok");
  assertEquals(outcome.names, ["tasks:read", "workers:*"]);
  assertEquals(
    outcome.scopes,
    new Set<Scope>(["tasks:read", "workers:read", "workers:write"]),
  );
});

Deno.test("parseScopes() refuses what is no scope and names its place", () => {
  // No route needs the last scope.
  const cases = [
    "*",
    "*:read",
    "tasks:",
    "tasks",
    "TASKS:READ",
    "__proto__",
    "events:read",
  ];
  for (const name of cases) {
    const outcome = parseScopes(["tasks:read", name]);
    assert(outcome.kind === "invalid", name);
    assertEquals(outcome.index, 1);
    assertStringIncludes(outcome.reason, `"${name}"`);
  }
  const typo = parseScopes(["task:read"]);
  assert(typo.kind === "invalid");
  assertStringIncludes(typo.reason, 'did you mean "tasks:read"?');
  assertEquals(parseScopes([]).kind, "invalid");
});

Deno.test("scopesOfKey() passes over what no scope is called any longer", () => {
  assertEquals(
    scopesOfKey({ scopes: ["events:read", "tasks:*"] }),
    new Set<Scope>(["tasks:read", "tasks:write"]),
  );
});

Deno.test("missingScope() names the first scope that is not there", () => {
  const viewer = scopesOfRole("viewer");
  assertEquals(missingScope(viewer, "tasks:read"), undefined);
  assertEquals(missingScope(viewer, "tasks:write"), "tasks:write");
  assertEquals(
    missingScope(viewer, ["tasks:read", "keys:read", "keys:write"]),
    "keys:read",
  );
  assert(viewer.has("tasks:read"));
  assert(!viewer.has("secrets:write"));
});
