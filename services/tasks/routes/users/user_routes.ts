/**
 * The routes of users.
 *
 * @module
 */

import type { User } from "../../domain/records.ts";
import { RecordResource } from "../record_resource.ts";
import type { ApiParts } from "../api_parts.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import { USER, USER_CHANGES, userTag, viewUser } from "./user_fields.ts";
import {
  changeUser,
  createUser,
  removeUser,
  type UserParts,
} from "./user_changes.ts";
import { MIRROR_HEADERS, UserMirroring } from "./user_mirroring.ts";

const READ = { kind: "member", role: "viewer", scope: "users:read" } as const;
const WRITE = { kind: "member", role: "admin", scope: "users:write" } as const;
const TAGS = ["users"];

/** The routes of users. */
export function userRoutes(parts: ApiParts): readonly AnyRoute[] {
  const resource = new RecordResource<User>({
    noun: "user",
    operations: ["User", "Users"],
    summaries: { list: "List users", read: "Read a user" },
    answers: { list: "A page of users, by their ids", read: "The user" },
    path: "/v1/users",
    tags: TAGS,
    access: READ,
    shape: USER,
    pageName: "UserList",
    repository: parts.engine.parts.repositories.users,
    cursors: parts.cursors,
    filter: "users",
    view: viewUser,
    tag: userTag,
  });
  const mirroring = new UserMirroring({
    settling: parts.mirrorSettling,
    parts: parts.engine.parts,
  });
  const users: UserParts = { parts, resource, mirroring };
  return [
    resource.listRoute(),
    createRoute(users),
    resource.readRoute(),
    ...changeRoutes(users),
    removeRoute(users),
  ];
}

function createRoute(users: UserParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/users",
    hosts: "tenant",
    operationId: "createUser",
    summary: "Add a user",
    description: "A caller can give no role above their own. The person logs " +
      "in at the identity provider and is known by the verified address the " +
      "first time.",
    tags: TAGS,
    access: WRITE,
    body: requiredBody(USER, {
      example: { email: "ada@example.com", name: "Ada", role: "admin" },
    }),
    answers: {
      201: {
        description: "The user",
        shape: USER,
        headers: {
          Location: "Where the user is",
          ETag: "The entity tag of this version",
          ...MIRROR_HEADERS,
        },
      },
    },
    isIdempotent: true,
    problems: ["email_taken", "quota_exceeded", "read_only"],
    handle: (call) => createUser(call, users),
  });
}

function changeRoutes(users: UserParts): readonly AnyRoute[] {
  const common = {
    path: "/v1/users/:id",
    hosts: "tenant",
    description:
      "The last active owner stays one, and no caller raises their " +
      "own role. Who is disabled loses the keys they made; who is lowered " +
      "loses those with rights that they no longer have.",
    tags: TAGS,
    access: WRITE,
    answers: {
      200: {
        description: "The user",
        shape: USER,
        headers: MIRROR_HEADERS,
      },
    },
    conditions: "change",
    problems: ["email_taken", "last_owner", "read_only"],
  } as const;
  return [
    defineRoute({
      ...common,
      method: "PUT",
      operationId: "updateUser",
      summary: "Change what is given of a user",
      body: requiredBody(USER_CHANGES),
      handle: (call) => changeUser(call, users),
    }),
    defineRoute({
      ...common,
      method: "PATCH",
      operationId: "patchUser",
      summary: "Change a user by a merge patch",
      body: requiredBody(USER_CHANGES, {
        mediaTypes: ["application/merge-patch+json", "application/json"],
      }),
      handle: (call) => changeUser(call, users),
    }),
  ];
}

function removeRoute(users: UserParts): AnyRoute {
  return defineRoute({
    method: "DELETE",
    path: "/v1/users/:id",
    hosts: "tenant",
    operationId: "removeUser",
    summary: "Remove a user with the keys they made",
    description: "The audit log keeps what they did, by their id.",
    tags: TAGS,
    access: WRITE,
    answers: {
      204: { description: "The user is gone", headers: MIRROR_HEADERS },
    },
    conditions: "change",
    problems: ["last_owner"],
    handle: (call) => removeUser(call, users),
  });
}
