/**
 * The routes of those who hold a lease.
 *
 * @module
 */

import { parseBearer } from "../../access/authorization.ts";
import type { ApiParts } from "../api_parts.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, tenantOf } from "../../http/call.ts";
import type { ProblemCode } from "../../http/problem_catalog.ts";
import {
  type AnyRoute,
  defineRoute,
  optionalBody,
  requiredBody,
  type RouteBody,
} from "../../http/route.ts";
import { speak } from "./lease_answer.ts";
import { LEASE_STATE } from "./lease_schema.ts";
import type { LeaseScrubbers } from "./lease_scrubbers.ts";
import { type LogBudget, MAX_ATTEMPT_LINES } from "./log_budget.ts";
import {
  COMPLETE_BODY,
  FAIL_BODY,
  HEARTBEAT_BODY,
  type LeaseAction,
  LOG_BODY,
  MAX_OUTCOME_BYTES,
  RELEASE_BODY,
  type Word,
} from "./word_schema.ts";

/** Results are read whole and kept in part, so they may be longer than that. */
const OUTCOME_BODY = { maxBytes: () => MAX_OUTCOME_BYTES };

/** What the routes need. */
export interface SayParts {
  /** The parts of all routes. */
  readonly parts: ApiParts;
  /** Finds what takes secrets out. */
  readonly scrubbers: LeaseScrubbers;
  /** Counts log lines. */
  readonly budget: LogBudget;
}

/** The routes that say something with one lease. */
export function sayRoutes(common: SayParts): readonly AnyRoute[] {
  return [
    sayRoute({
      ...common,
      action: "heartbeat",
      operationId: "heartbeatLease",
      summary: "Go on with a lease",
      description: "Extends the lease, never beyond the time the attempt may " +
        "take. `canceled` tells that the work is to be stopped; where the " +
        "task was removed, the problem `lease_gone` tells it.",
      body: optionalBody(HEARTBEAT_BODY, {
        example: { progress: { done: 40, of: 100 } },
      }),
      word: (body) => ({ ...body, action: "heartbeat" }),
    }),
    sayRoute({
      ...common,
      action: "complete",
      operationId: "completeLease",
      summary: "Tell that the work is done",
      description: "To say so twice is fine. Of a result longer than 64 KiB " +
        "the beginning is kept; a body of more than 4 MiB is refused.",
      body: optionalBody(COMPLETE_BODY, {
        ...OUTCOME_BODY,
        tooLargeAdvice: "say it again without the result",
        example: { result: { sent: true } },
      }),
      word: (body) => ({ ...body, action: "complete" }),
    }),
    sayRoute({
      ...common,
      action: "fail",
      operationId: "failLease",
      summary: "Tell that the work has failed",
      description: "The retry policy decides what follows, unless `retry` is " +
        "false. To say so twice is fine.",
      body: optionalBody(FAIL_BODY, {
        ...OUTCOME_BODY,
        tooLargeAdvice: "say it again without the error's detail",
        example: {
          error: { code: "mailbox_full", message: "The mailbox is full" },
          retry_after: "PT10M",
        },
      }),
      word: (body) => ({ retry: true, ...body, action: "fail" }),
    }),
    sayRoute({
      ...common,
      action: "release",
      operationId: "releaseLease",
      summary: "Give a task back",
      description: "No try is spent. To say so twice is fine.",
      body: optionalBody(RELEASE_BODY, {
        example: { reason: "shutting down" },
      }),
      word: (body) => ({ ...body, action: "release" }),
    }),
    sayRoute({
      ...common,
      action: "log",
      operationId: "logLease",
      summary: "Add lines to the history of a task",
      description: "Lines that are sent twice are there twice. An attempt " +
        `may have ${MAX_ATTEMPT_LINES.toLocaleString("en")}; of a call with ` +
        "more none are added.",
      problems: ["lease_gone", "quota_exceeded"],
      body: requiredBody(LOG_BODY, {
        maxBytes: () => 262_144,
        example: { lines: ["connected", "sent 40 of 100"] },
      }),
      word: (body) => ({ ...body, action: "log" }),
    }),
  ];
}

interface Saying<Body> extends SayParts {
  readonly action: LeaseAction;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  /** @default only that the lease is gone */
  readonly problems?: readonly ProblemCode[];
  readonly body: RouteBody<Body>;
  readonly word: (body: Body) => Word;
}

function sayRoute<Body>(saying: Saying<Body>): AnyRoute {
  const { action, operationId, summary, description, body, word } = saying;
  return defineRoute({
    method: "POST",
    path: `/v1/leases/:id/${action}`,
    hosts: "tenant",
    operationId,
    summary,
    description,
    tags: ["leases"],
    access: { kind: "lease" },
    body,
    answers: {
      200: { description: "What has become of it", shape: LEASE_STATE },
    },
    problems: saying.problems ?? ["lease_gone"],
    handle: (call) => say(call, word(call.body), saying),
  });
}

async function say(
  call: Call<unknown, unknown>,
  word: Word,
  { parts, scrubbers, budget }: SayParts,
): Promise<Answer> {
  const bearer = parseBearer(call.header("authorization"));
  if (bearer.kind !== "ok") {
    throw new TypeError("Cannot tell whose lease it is: nobody was let in");
  }
  const leaseId = call.params.id ?? "";
  const tenantId = tenantOf(call).id;
  const pause = call.pausing.pause();
  if (pause !== undefined) await pause;
  const spoken = speak(word, {
    tenantId,
    leaseId,
    token: bearer.token,
    scrubber: await scrubbers.of(tenantId, leaseId),
    ...(word.action === "log"
      ? { tally: await budget.tally(tenantId, leaseId) }
      : {}),
  });
  return spoken.answer(await parts.engine.leases.say(spoken.heard));
}
