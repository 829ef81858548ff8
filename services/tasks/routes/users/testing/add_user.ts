/**
 * Adds users for tests of routes.
 *
 * @module
 */

import { assert } from "@std/assert";
import type { User } from "../../../domain/records.ts";
import type { ApiParts } from "../../api_parts.ts";
import type { AnyRoute } from "../../../http/route.ts";
import type { TestApi } from "../../testing/test_api.ts";
import { auditRoute } from "../../account/account_reports.ts";
import { keyRoutes } from "../../keys/key_routes.ts";
import { userRoutes } from "../user_routes.ts";

/** The routes of users and keys, and the audit log that tells of both. */
export function peopleRoutes(parts: ApiParts): readonly AnyRoute[] {
  return [...userRoutes(parts), ...keyRoutes(parts), auditRoute(parts)];
}

/**
 * Adds a user of the tenant "acme", who is an invited member unless the patch
 * says otherwise.
 */
export async function addUser(
  api: TestApi,
  patch: Partial<User> = {},
): Promise<User> {
  const { repositories, newId } = api.parts.engine.parts;
  const user: User = {
    tenantId: api.tenant.id,
    id: newId("usr"),
    version: 1,
    email: "ada@example.com",
    name: "",
    role: "member",
    status: "invited",
    payloads: true,
    createdAtMs: api.clock.nowMs(),
    updatedAtMs: api.clock.nowMs(),
    ...patch,
  };
  await api.write(repositories.users.insert(user));
  return user;
}

/**
 * The list in an answer.
 *
 * @throws {Error} when the value is not a list
 */
export function readList(value: unknown): readonly object[] {
  assert(Array.isArray(value), "there is no list");
  return value;
}

/** The members of an object in a list of an answer, by this name. */
export function listMembers(value: unknown, name: string): readonly unknown[] {
  return readList(value).map((item) => Reflect.get(item, name));
}
