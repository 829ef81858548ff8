/**
 * The routes of API keys.
 *
 * @module
 */

import type { ApiKey } from "../../domain/records.ts";
import { RecordResource } from "../record_resource.ts";
import type { ApiParts } from "../api_parts.ts";
import {
  type AnyRoute,
  defineRoute,
  optionalBody,
  requiredBody,
} from "../../http/route.ts";
import { KEY, MADE_KEY, NEW_KEY, ROTATION, viewKey } from "./key_fields.ts";
import {
  createKey,
  type KeyParts,
  keyTag,
  removeKey,
  rotateKey,
} from "./key_changes.ts";

const READ = { kind: "member", role: "admin", scope: "keys:read" } as const;
const WRITE = { kind: "member", role: "admin", scope: "keys:write" } as const;
const TAGS = ["keys"];

const MADE = {
  201: {
    description: "The key, with its secret",
    shape: MADE_KEY,
    headers: { Location: "Where the key is" },
  },
};

/** The routes of API keys. */
export function keyRoutes(parts: ApiParts): readonly AnyRoute[] {
  const resource = new RecordResource<ApiKey>({
    noun: "key",
    operations: ["Key", "Keys"],
    summaries: { list: "List API keys", read: "Read an API key" },
    answers: {
      list: "A page of keys, without their secrets",
      read: "The key, without its secret",
    },
    path: "/v1/keys",
    tags: TAGS,
    access: READ,
    shape: KEY,
    pageName: "ApiKeyList",
    repository: parts.engine.parts.repositories.keys,
    cursors: parts.cursors,
    filter: "keys",
    view: viewKey,
    tag: keyTag,
  });
  const keys: KeyParts = { parts, resource };
  return [
    resource.listRoute(),
    createRoute(parts),
    resource.readRoute(),
    rotateRoute(keys),
    removeRoute(keys),
  ];
}

function createRoute(parts: ApiParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/keys",
    hosts: "tenant",
    operationId: "createKey",
    summary: "Make an API key",
    description: "A key never has rights that its maker lacks. Only " +
      "a digest of the secret is kept, so this answer alone shows it.",
    tags: TAGS,
    access: WRITE,
    body: requiredBody(NEW_KEY, {
      example: { name: "ci", scopes: ["tasks:read", "tasks:write"] },
    }),
    answers: MADE,
    isIdempotent: true,
    problems: ["quota_exceeded", "read_only"],
    handle: (call) => createKey(call, parts),
  });
}

function rotateRoute(keys: KeyParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/keys/:id/rotate",
    hosts: "tenant",
    operationId: "rotateKey",
    summary: "Put another API key in the place of one",
    description: "The new key has an id and a secret of its own and is like " +
      "the old one otherwise; it belongs to the user who asks for it. The " +
      "old one ends at once, or after the overlap. Until then it does not " +
      "count for the plan's `keys`, unless as many others go on like this.",
    tags: TAGS,
    access: WRITE,
    body: optionalBody(ROTATION),
    answers: MADE,
    isIdempotent: true,
    problems: ["quota_exceeded", "wrong_state"],
    handle: (call) => rotateKey(call, keys),
  });
}

function removeRoute(keys: KeyParts): AnyRoute {
  return defineRoute({
    method: "DELETE",
    path: "/v1/keys/:id",
    hosts: "tenant",
    operationId: "removeKey",
    summary: "End an API key",
    description: "It stops working at once. The last key with the role of an " +
      "owner stays while no owner has logged in at the identity provider; " +
      "another one counts if it lasts as long, or a week.",
    tags: TAGS,
    access: WRITE,
    answers: { 204: { description: "The key is gone" } },
    conditions: "change",
    problems: ["last_owner"],
    handle: (call) => removeKey(call, keys),
  });
}
