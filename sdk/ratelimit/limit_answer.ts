/**
 * What an HTTP server answers by a decision: the fields `RateLimit` and
 * `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers-11, and the refusal
 * of a request.
 *
 * @module
 */

import type { LimitStatus, RateLimitDecision } from "./decision.ts";

/** Header fields, by their names. */
export type AnswerFields = Readonly<Record<string, string>>;

/** An answer in place of that of the application. */
export interface RefusalAnswer {
  /** 429 when a limit is exceeded, 503 when there is no decision. */
  readonly status: 429 | 503;
  /** All fields of the answer. */
  readonly fields: AnswerFields;
  /** The body, a problem in JSON (RFC 9457). */
  readonly body: string;
}

/** What becomes of a request. */
export type LimitAnswer =
  | {
    readonly kind: "pass";
    /** Fields to add to the answer of the application; may be none. */
    readonly fields: AnswerFields;
  }
  | { readonly kind: "refuse"; readonly answer: RefusalAnswer };

/** A status whose limit is known, with the name by which fields tell of it. */
interface NamedPolicy {
  readonly name: string;
  readonly status: LimitStatus;
}

/** Returns what becomes of a request by its decision. */
export function toAnswer(
  { allowed, statuses }: RateLimitDecision,
): LimitAnswer {
  const policies = namedPolicies(statuses);
  const fields = buildFields(policies);
  if (allowed) return { kind: "pass", fields };
  const violated = policies.filter(({ status }) => !status.allowed);
  const waits = violated.flatMap(({ status }) => status.resetSeconds ?? []);
  // A client that comes at once, as 0 says, would be refused once more.
  const retry: AnswerFields = waits.length === 0
    ? {}
    : { "Retry-After": String(Math.max(1, ...waits)) };
  return refusal({ ...fields, ...retry }, {
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title: "Too Many Requests",
    status: 429,
    "violated-policies": violated.map(({ name }) => name),
  });
}

/** Refuses a request for which there is no decision. */
export function undecidedAnswer(): LimitAnswer {
  return refusal({}, {
    title: "Service Unavailable",
    status: 503,
    detail: "The limits cannot be checked now",
  });
}

function refusal(
  fields: AnswerFields,
  problem: { readonly status: 429 | 503; readonly [member: string]: unknown },
): LimitAnswer {
  return {
    kind: "refuse",
    answer: {
      status: problem.status,
      fields: {
        ...fields,
        "Content-Type": "application/problem+json",
        "Cache-Control": "no-store",
      },
      body: JSON.stringify(problem),
    },
  };
}

/** Names the limits: by their rules, else `limit`; no name comes twice. */
function namedPolicies(
  statuses: readonly LimitStatus[],
): readonly NamedPolicy[] {
  const taken = new Set<string>();
  return statuses.flatMap((status) => {
    if (status.limit === undefined) return [];
    const wanted = status.name ?? "limit";
    let name = wanted;
    for (let next = 2; taken.has(name); next++) name = `${wanted}-${next}`;
    taken.add(name);
    return [{ name, status }];
  });
}

function buildFields(policies: readonly NamedPolicy[]): AnswerFields {
  if (policies.length === 0) return {};
  const list = (formatItem: (status: LimitStatus) => string) =>
    policies.map(({ name, status }) => `${quoted(name)}${formatItem(status)}`)
      .join(", ");
  return {
    "RateLimit-Policy": list(({ limit, windowSeconds }) =>
      parameter("q", limit) + parameter("w", windowSeconds)
    ),
    "RateLimit": list(({ remaining, resetSeconds }) =>
      parameter("r", remaining) + parameter("t", resetSeconds)
    ),
  };
}

function parameter(name: string, value: number | undefined): string {
  return value === undefined ? "" : `;${name}=${value}`;
}

/** Writes a String of structured fields (RFC 9651), which is ASCII alone. */
function quoted(text: string): string {
  const ascii = text.replace(/[^\x20-\x7e]/g, "_");
  return `"${ascii.replace(/["\\]/g, "\\$&")}"`;
}
