/**
 * Problems of what is there: a thing is missing, in the way, or in a state that
 * does not allow what was asked.
 *
 * @module
 */

import type { ProblemKind } from "../problem_kind.ts";

/** What a good request can be refused for as things stand. */
export const STATE_PROBLEMS = {
  not_found: {
    status: 404,
    title: "There is no such thing",
    description:
      "The path is unknown, or the tenant has nothing with this id (it may have had, or another tenant may have).",
    example: { detail: "Cannot find task: there is none with this id" },
  },
  domain_taken: {
    status: 409,
    title: "The domain is taken",
    description: "Another tenant has the domain, or had it until recently.",
    example: { detail: 'Cannot create tenant: the domain "acme" is taken' },
  },
  name_taken: {
    status: 409,
    title: "The name is taken",
    description: "Another one has the name; upper and lower case are the same.",
    example: { detail: 'Cannot create worker: the name "mailer" is taken' },
  },
  email_taken: {
    status: 409,
    title: "The email address is taken",
    description: "Another user of the tenant has the address.",
    example: { detail: "Cannot create user: the email address is taken" },
  },
  key_conflict: {
    status: 409,
    title: "A live task has the key",
    description:
      "The worker has a live task with this key, and on_conflict is reject.",
    example: {
      detail: 'Cannot create task: a live one has the key "invoice-17"',
    },
  },
  last_owner: {
    status: 409,
    title: "The tenant would have no owner",
    description: "The last active owner cannot be removed or lowered.",
    example: { detail: "Cannot remove user: it is the last active owner" },
  },
  worker_in_use: {
    status: 409,
    title: "The worker has live tasks",
    description:
      "A worker with live tasks is removed only with `cancel=true`, which cancels them.",
    example: { detail: "Cannot remove worker: it has 12 live tasks" },
  },
  lease_gone: {
    status: 409,
    title: "The lease is gone",
    description:
      "The lease has ended, was taken back, its task was canceled or removed, or the token is not its own. Stop the work.",
    example: { detail: "Cannot complete lease: it has ended" },
  },
  wrong_state: {
    status: 409,
    title: "The state does not allow this",
    description: "The thing is in a state in which this makes no sense.",
    example: {
      detail: 'Cannot pause task: its status is "complete"',
      extensions: { state: "complete" },
    },
  },
  precondition_failed: {
    status: 412,
    title: "It has changed meanwhile",
    description:
      "The version in If-Match is not the current one; read it again.",
    example: {
      detail: "Cannot change task: its version is not that of If-Match",
    },
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;
