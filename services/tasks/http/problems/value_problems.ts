/**
 * Problems of what a request says: values in its body or query.
 *
 * @module
 */

import type { ProblemKind } from "../problem_kind.ts";

/** What the values of a request can be refused for. */
export const VALUE_PROBLEMS = {
  invalid: {
    status: 422,
    title: "Something in the request is not valid",
    description:
      "`errors` tells each fault with its place: a JSON pointer into the body, or the name of a parameter.",
    example: {
      detail:
        'Cannot take field "workr": it is not known, did you mean "worker"?',
      extensions: {
        errors: [{
          pointer: "/workr",
          code: "unknown_field",
          detail:
            'Cannot take field "workr": it is not known, did you mean "worker"?',
        }],
      },
    },
  },
  read_only: {
    status: 422,
    title: "A field is read-only",
    description:
      "The service decides the field; leave it out or send it as it is.",
    example: {
      detail: 'Cannot change field "executions": the service decides it',
      extensions: {
        errors: [{
          pointer: "/executions",
          code: "read_only",
          detail: 'Cannot change field "executions": the service decides it',
        }],
      },
    },
  },
  unknown_worker: {
    status: 422,
    title: "There is no such worker",
    description: "The tenant has no worker with this name or id.",
    example: {
      detail: 'Cannot use worker "mailr": there is none of that name',
      extensions: {
        errors: [{
          pointer: "/worker",
          code: "unknown_worker",
          detail: 'Cannot use worker "mailr": there is none of that name',
        }],
      },
    },
  },
  bad_cron: {
    status: 422,
    title: "The cron expression is malformed",
    description: "The expression cannot be read; `errors` tells where.",
    example: {
      detail: 'Cannot read cron expression "* * *": it has 3 fields, not 5',
    },
  },
  never_fires: {
    status: 422,
    title: "The schedule never fires",
    description: "No date ever matches, as with the 30th of February.",
    example: {
      detail: 'Cannot use cron expression "0 0 30 2 *": it never fires',
    },
  },
  bad_timezone: {
    status: 422,
    title: "There is no such time zone",
    description: "The name is not one of the IANA database.",
    example: {
      detail:
        'Cannot read time zone "Stockholm": the IANA database has no such name',
    },
  },
  bad_cursor: {
    status: 422,
    title: "The cursor is not valid here",
    description:
      "The cursor belongs to another filter or tenant, or is none of ours; begin with the first page.",
    example: {
      detail: "Cannot go on from cursor: it is not one of this list",
      extensions: {
        errors: [{
          parameter: "cursor",
          code: "bad_cursor",
          detail: "Cannot go on from cursor: it is not one of this list",
        }],
      },
    },
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;
