import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  allows,
  type Role,
  ROLES,
  type Scope,
  SCOPES,
  scopesOfRole,
} from "./scope.ts";
import { mayChangeUser, mayGrantRole } from "./user_rules.ts";

type UserChange = Parameters<typeof mayChangeUser>[1]["change"];

const STATUSES = ["invited", "active", "disabled"] as const;

function actor(role: Role, userId = "usr_actor") {
  return { scopes: scopesOfRole(role), userId };
}

Deno.test("mayGrantRole() lets admins go up to admin and owners up to owner", () => {
  const most: Readonly<Record<Role, Role | undefined>> = {
    viewer: undefined,
    member: undefined,
    admin: "admin",
    owner: "owner",
  };
  for (const own of ROLES) {
    for (const role of ROLES) {
      const limit = most[own];
      const expected = limit !== undefined && allows(limit, role);
      assertEquals(mayGrantRole(actor(own), role).kind === "ok", expected);
    }
  }
});

Deno.test("mayGrantRole() never lets a set of scopes grow through a new user", () => {
  const random = new SeededRandom(41);
  for (let round = 0; round < 2_000; round++) {
    const scopes = new Set<Scope>(SCOPES.filter(() => random.chance(0.8)));
    const role = random.pick(ROLES);
    if (mayGrantRole({ scopes }, role).kind !== "ok") continue;
    assert(scopes.has("users:write"));
    assert(scopesOfRole(role).isSubsetOf(scopes));
  }
});

Deno.test("mayGrantRole() refuses a key that has users:write and little else", () => {
  const scopes = new Set<Scope>(["users:write", "users:read"]);
  const outcome = mayGrantRole({ scopes }, "admin");
  assert(outcome.kind === "forbidden");
  assertStringIncludes(outcome.reason, '"tasks:read"');
});

Deno.test("mayChangeUser() lets no user raise their own role, also through a key", () => {
  // The key was made when its user was an admin.
  const key = { scopes: scopesOfRole("admin"), userId: "usr_1" };
  const user = { id: "usr_1", role: "member", status: "active" } as const;
  const change: UserChange = { kind: "update", role: "admin" };
  const raised = mayChangeUser(key, { user, change, activeOwners: 1 });
  assert(raised.kind === "forbidden");
  assertStringIncludes(raised.reason, "own role");
  const other = { ...user, id: "usr_2" };
  const options = { user: other, change, activeOwners: 1 };
  assertEquals(mayChangeUser(key, options), { kind: "ok" });
});

Deno.test("mayChangeUser() lets a user lower or keep their own role", () => {
  const user = { id: "usr_actor", role: "admin", status: "active" } as const;
  for (const role of ["viewer", "admin"] as const) {
    assertEquals(
      mayChangeUser(actor("admin"), {
        user,
        change: { kind: "update", role },
        activeOwners: 1,
      }),
      { kind: "ok" },
    );
  }
});

Deno.test("mayChangeUser() keeps admins away from owners", () => {
  const user = { id: "usr_o", role: "owner", status: "active" } as const;
  const changes: readonly UserChange[] = [
    { kind: "remove" },
    { kind: "update", role: "viewer" },
    { kind: "update", status: "disabled" },
    { kind: "update" },
  ];
  for (const change of changes) {
    const options = { user, change, activeOwners: 2 };
    assertEquals(mayChangeUser(actor("admin"), options).kind, "forbidden");
    assertEquals(mayChangeUser(actor("owner"), options).kind, "ok");
  }
});

Deno.test("mayChangeUser() never leaves a tenant without an active owner", () => {
  for (const role of ROLES) {
    for (const status of STATUSES) {
      for (const change of allChanges()) {
        for (const others of [0, 1, 2]) {
          const isOwner = role === "owner" && status === "active";
          const activeOwners = others + (isOwner ? 1 : 0);
          const user = { id: "usr_1", role, status };
          const options = { user, change, activeOwners };
          const outcome = mayChangeUser(actor("owner"), options);
          const staysOwner = change.kind === "update" &&
            (change.role ?? role) === "owner" &&
            (change.status ?? status) === "active";
          const left = others + (staysOwner ? 1 : 0);
          // A tenant without an active owner before the change loses none.
          const isLost = isOwner && left === 0;
          assertEquals(outcome.kind, isLost ? "last_owner" : "ok");
        }
      }
    }
  }
});

function* allChanges(): Generator<UserChange> {
  yield { kind: "remove" };
  for (const role of [undefined, ...ROLES]) {
    for (const status of [undefined, ...STATUSES]) {
      yield { kind: "update", role, status };
    }
  }
}
