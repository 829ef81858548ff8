/**
 * Problems of who calls: whose request it is, and what and how much it may.
 *
 * @module
 */

import type { ProblemKind } from "../problem_kind.ts";

/** What a caller can be refused for, whatever the thing is like. */
export const CALLER_PROBLEMS = {
  missing_credentials: {
    status: 401,
    title: "Credentials are needed",
    description:
      "The request has no Authorization header; send a bearer token.",
    example: { detail: "Cannot tell who calls: there is no bearer token" },
  },
  invalid_credentials: {
    status: 401,
    title: "The credentials are not valid here",
    description:
      "The token is unknown, was revoked, or belongs to another tenant; which of these is not told.",
    example: { detail: "Cannot accept the token: it is not valid here" },
  },
  token_expired: {
    status: 401,
    title: "The token has expired",
    description: "The token was valid once; get a new one.",
    example: { detail: "Cannot accept the token: it has expired" },
  },
  forbidden: {
    status: 403,
    title: "The caller may not do this",
    description:
      "The credentials are good but do not allow this; `scope` names what is missing.",
    example: {
      detail: 'Cannot go on: the scope "tasks:write" is missing',
      extensions: { scope: "tasks:write" },
    },
  },
  tenant_suspended: {
    status: 403,
    title: "The tenant is suspended",
    description: "The operator has suspended the tenant; nothing is answered.",
    example: { detail: 'Cannot serve "acme": it is suspended' },
  },
  quota_exceeded: {
    status: 403,
    title: "The plan's quota is used up",
    description:
      "The plan allows no more of these. What exists goes on; `limit` and `used` tell how much there is.",
    example: {
      detail: "Cannot create task: the plan allows 1000 active tasks",
      extensions: { limit: 1_000, used: 1_000, plan: "free" },
    },
  },
  tenant_not_found: {
    status: 404,
    title: "There is no such tenant",
    description: "The host name belongs to no tenant of this service.",
    example: { detail: 'Cannot find tenant: "acme" is not known' },
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    description: "Wait as long as Retry-After says. What comes without valid " +
      "credentials is counted by its address.",
    example: {
      detail: "Cannot serve so many requests: 10 in a second are allowed",
      extensions: { retry_after: 1, limit: 10 },
    },
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;
