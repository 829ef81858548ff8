/**
 * The catalogue of all problems that the API answers with.
 *
 * @module
 */

import type { JsonValue } from "../../shared/schema/schema.ts";

/** One kind of problem. */
interface ProblemKind {
  /** The HTTP status code. */
  readonly status: number;
  /** A short summary, the same each time. */
  readonly title: string;
  /** When the problem is answered, and what the client should do. */
  readonly description: string;
  /** An example of an answer with the problem. */
  readonly example: {
    /** What went wrong, in this example. */
    readonly detail: string;
    /** Further members of the body. */
    readonly extensions?: Readonly<Record<string, JsonValue>>;
  };
}

/** Every kind of problem by its code, in the order of their status codes. */
const PROBLEM_KINDS = {
  bad_request: {
    status: 400,
    title: "The request is not valid HTTP",
    description:
      "The request line or the framing of the body is malformed. The service " +
      "did nothing.",
    example: { detail: "Cannot read request: its first line is malformed" },
  },
  malformed_json: {
    status: 400,
    title: "The body is not valid JSON",
    description: "The body is empty, not in UTF-8, or not valid JSON.",
    example: {
      detail:
        'Cannot read body: line 1, column 14 holds "}" where a value is expected',
    },
  },
  bad_host: {
    status: 400,
    title: "The Host header is not valid",
    description: "The Host header is missing, repeated or not a host name.",
    example: { detail: "Cannot find the tenant: the Host header is missing" },
  },
  bad_header: {
    status: 400,
    title: "A header is malformed",
    description: "The value of a header cannot be read.",
    example: {
      detail:
        'Cannot read header "Idempotency-Key": it has more than 255 characters',
      extensions: { header: "Idempotency-Key" },
    },
  },
  missing_credentials: {
    status: 401,
    title: "Credentials are missing",
    description:
      "The request has no Authorization header; send a bearer token.",
    example: { detail: "Missing bearer token" },
  },
  invalid_credentials: {
    status: 401,
    title: "The credentials are not valid here",
    description:
      "The token is unknown, was revoked, or belongs to another tenant. The " +
      "answer does not say which.",
    example: { detail: "Cannot accept the token: it is not valid here" },
  },
  token_expired: {
    status: 401,
    title: "The token has expired",
    description: "The token is no longer valid. Get a new one.",
    example: { detail: "Cannot accept the token: it has expired" },
  },
  forbidden: {
    status: 403,
    title: "The caller may not do this",
    description:
      "The credentials are valid but do not allow this. `scope` names the " +
      "missing scope.",
    example: {
      detail: 'Missing scope "tasks:write"',
      extensions: { scope: "tasks:write" },
    },
  },
  tenant_suspended: {
    status: 403,
    title: "The tenant is suspended",
    description: "The operator has suspended the tenant. The service refuses " +
      "its requests.",
    example: { detail: 'Cannot serve "acme": it is suspended' },
  },
  quota_exceeded: {
    status: 403,
    title: "The plan's quota is used up",
    description:
      "The plan allows no more of these; existing ones are kept. `limit` and " +
      "`used` are the allowed and the present number.",
    example: {
      detail: "Cannot create task: the plan allows 1000 active tasks",
      extensions: { limit: 1_000, used: 1_000, plan: "free" },
    },
  },
  not_found: {
    status: 404,
    title: "Not found",
    description:
      "The path is unknown, or the tenant has nothing with this id. It may " +
      "have been removed, or belong to another tenant.",
    example: { detail: "Cannot find task: no task has this id" },
  },
  tenant_not_found: {
    status: 404,
    title: "There is no such tenant",
    description: "No tenant of this service has this host name.",
    example: { detail: 'Cannot find tenant: "acme" is unknown' },
  },
  method_not_allowed: {
    status: 405,
    title: "The method is not allowed here",
    description: "The path exists. The Allow header lists its methods.",
    example: { detail: "Cannot use PUT here: GET, HEAD and POST are offered" },
  },
  not_acceptable: {
    status: 406,
    title: "No acceptable format is available",
    description: "The Accept header excludes every available format.",
    example: { detail: "Cannot answer in a format that Accept allows" },
  },
  request_timeout: {
    status: 408,
    title: "The request was too slow",
    description: "The body did not arrive in time; send it again.",
    example: { detail: "Cannot read body: it did not arrive in time" },
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
    description: "The name is in use. Upper and lower case are equal.",
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
      "The worker has a live task with this key, and the request cannot " +
      "change it: on_conflict is reject, or the task runs or repeats. " +
      "`Retry-After` says when the key may be free: at the date of that task.",
    example: {
      detail: 'Cannot create task: a live task has the key "invoice-17"',
      extensions: { retry_after: 5 },
    },
  },
  last_owner: {
    status: 409,
    title: "The tenant would have no owner",
    description: "The last active owner cannot be removed or get a lower role.",
    example: { detail: "Cannot remove user: it is the last active owner" },
  },
  worker_in_use: {
    status: 409,
    title: "The worker has live tasks",
    description:
      "A worker with live tasks is removed only with `cancel=true`, which cancels them.",
    example: { detail: "Cannot remove worker: it has 12 live tasks" },
  },
  calendar_in_use: {
    status: 409,
    title: "Live tasks name the calendar",
    description:
      "A calendar that live tasks name cannot be removed. Remove it from " +
      "their schedules, or replace its file.",
    example: { detail: "Cannot remove calendar: live tasks name it" },
  },
  lease_gone: {
    status: 409,
    title: "The lease is gone",
    description:
      "The lease has ended or was revoked, its task was canceled or removed, " +
      "or the token belongs to another lease. Stop the work.",
    example: { detail: "Cannot complete lease: it has ended" },
  },
  wrong_state: {
    status: 409,
    title: "The state does not allow this",
    description: "The action is not possible in the current state.",
    example: {
      detail: 'Cannot pause task: its status is "complete"',
      extensions: { state: "complete" },
    },
  },
  idempotency_in_progress: {
    status: 409,
    title: "The first request with this key is in progress",
    description:
      "A request with the same Idempotency-Key has not been answered yet; try again.",
    example: {
      detail: "Cannot answer yet: the first request with this key is in " +
        "progress",
      extensions: { retry_after: 1 },
    },
  },
  precondition_failed: {
    status: 412,
    title: "The version has changed",
    description:
      "The version in If-Match is not the current one. Read it again.",
    example: {
      detail: "Cannot change task: its version differs from If-Match",
    },
  },
  too_large: {
    status: 413,
    title: "The body is too large",
    description: "The body, or a part of it, is larger than the plan allows.",
    example: {
      detail: "Cannot read body: it has more than 65536 bytes",
      extensions: { limit: 65_536 },
    },
  },
  uri_too_long: {
    status: 414,
    title: "The request target is too long",
    description:
      "The path and the query are longer than the head of a request may be.",
    example: { detail: "Cannot read request: its target is too long" },
  },
  unsupported_media_type: {
    status: 415,
    title: "The body has an unsupported type",
    description: "A body needs `Content-Type: application/json`, in UTF-8.",
    example: {
      detail:
        'Cannot read body: its type is "text/plain", not application/json',
    },
  },
  expectation_failed: {
    status: 417,
    title: "The expectation is not supported",
    description:
      "The Expect header asks for something other than 100-continue.",
    example: {
      detail: "Cannot meet expectation: only 100-continue is supported",
    },
  },
  invalid: {
    status: 422,
    title: "The request is not valid",
    description:
      "`errors` lists each fault with its place: a JSON pointer into the " +
      "body, or the name of a parameter.",
    example: {
      detail:
        'Cannot accept field "workr": it is unknown; did you mean "worker"?',
      extensions: {
        errors: [{
          pointer: "/workr",
          code: "unknown_field",
          detail: 'Cannot accept field "workr": it is unknown; did you mean ' +
            '"worker"?',
        }],
      },
    },
  },
  read_only: {
    status: 422,
    title: "A field is read-only",
    description: "The service sets the field. Omit it or send it unchanged.",
    example: {
      detail: 'Cannot change field "executions": the service sets it',
      extensions: {
        errors: [{
          pointer: "/executions",
          code: "read_only",
          detail: 'Cannot change field "executions": the service sets it',
        }],
      },
    },
  },
  unknown_worker: {
    status: 422,
    title: "There is no such worker",
    description: "The tenant has no worker with this name or id.",
    example: {
      detail: 'Cannot use worker "mailr": no worker has this name',
      extensions: {
        errors: [{
          pointer: "/worker",
          code: "unknown_worker",
          detail: 'Cannot use worker "mailr": no worker has this name',
        }],
      },
    },
  },
  bad_cron: {
    status: 422,
    title: "The cron expression is malformed",
    description: "The expression cannot be read. `errors` says where.",
    example: {
      detail: 'Cannot read cron expression "* * *": it has 3 fields, not 5',
    },
  },
  never_fires: {
    status: 422,
    title: "The schedule never fires",
    description: "No date matches, as for the 30th of February.",
    example: {
      detail: 'Cannot use cron expression "0 0 30 2 *": it never fires',
    },
  },
  bad_timezone: {
    status: 422,
    title: "Unknown time zone",
    description: "The IANA database does not have the name.",
    example: {
      detail:
        'Cannot read time zone "Stockholm": the IANA database has no such name',
    },
  },
  bad_cursor: {
    status: 422,
    title: "The cursor is not valid here",
    description:
      "The cursor belongs to another filter or tenant, or is not from this " +
      "service. Start with the first page.",
    example: {
      detail: "Cannot use cursor: it does not belong to this list",
      extensions: {
        errors: [{
          parameter: "cursor",
          code: "bad_cursor",
          detail: "Cannot use cursor: it does not belong to this list",
        }],
      },
    },
  },
  idempotency_key_reused: {
    status: 422,
    title: "The idempotency key was used with another body",
    description:
      "The first request with this Idempotency-Key had another body. Use a " +
      "new key. `Retry-After` says when this one is free again.",
    example: {
      detail: "Cannot use Idempotency-Key again: the body differs",
      extensions: { retry_after: 86_000 },
    },
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    description: "Wait as long as Retry-After says. Requests without valid " +
      "credentials are counted by their address.",
    example: {
      detail: "Cannot serve so many requests: 10 a second are allowed",
      extensions: { retry_after: 1, limit: 10 },
    },
  },
  request_header_fields_too_large: {
    status: 431,
    title: "The headers are too large",
    description: "There are too many headers, or they are too long.",
    example: { detail: "Cannot read request: its headers are too large" },
  },
  internal: {
    status: 500,
    title: "The service failed",
    description:
      "This is a fault of the service. Its log has more about this request id.",
    example: { detail: "Cannot answer: the service failed" },
  },
  not_implemented: {
    status: 501,
    title: "The method is unknown",
    description: "The service does not know the method or the transfer coding.",
    example: { detail: "Cannot answer: the method is unknown" },
  },
  overloaded: {
    status: 503,
    title: "The service is overloaded",
    description: "Too many requests are in progress. The service did nothing.",
    example: {
      detail: "Cannot accept more requests: too many are in progress",
      extensions: { retry_after: 1 },
    },
  },
  not_ready: {
    status: 503,
    title: "The service is not ready",
    description:
      "A part that the service needs does not answer. `checks` names it.",
    example: {
      detail: "Cannot serve: idp not ready",
      extensions: { retry_after: 2 },
    },
  },
  stopping: {
    status: 503,
    title: "The service is stopping",
    description:
      "The service stopped before it had an answer. The request may have " +
      "taken effect. Try again.",
    example: { detail: "Cannot answer: the service is stopping" },
  },
  store_unavailable: {
    status: 503,
    title: "The store does not answer",
    description:
      "The store failed; its disk may be full. The request may have taken " +
      "effect. Try again.",
    example: {
      detail:
        "Cannot answer: the store failed; the request may have taken effect",
      extensions: { retry_after: 5 },
    },
  },
  secrets_unavailable: {
    status: 503,
    title: "Secrets are not available",
    description:
      "No configured master key opens the required secrets. Everything else " +
      "works.",
    example: {
      detail: "Cannot keep secrets: no master key is configured",
      extensions: { retry_after: 60 },
    },
  },
  http_version_not_supported: {
    status: 505,
    title: "The HTTP version is not supported",
    description: "The port speaks HTTP/1.1 and HTTP/1.0.",
    example: {
      detail: "Cannot answer: the protocol must be HTTP/1.1 or HTTP/1.0",
    },
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;

/** The code of a kind of problem. */
export type ProblemCode = keyof typeof PROBLEM_KINDS;

/** All codes, in the order of their status codes. */
export const PROBLEM_CODES: readonly ProblemCode[] = Object.keys(
  PROBLEM_KINDS,
) as ProblemCode[];

/** Finds a code; `undefined` when there is no such problem. */
export function parseProblemCode(text: string): ProblemCode | undefined {
  return PROBLEM_CODES.find((code) => code === text);
}

/** Returns the description of a kind of problem. */
export function problemKind(code: ProblemCode): ProblemKind {
  return PROBLEM_KINDS[code];
}
