/**
 * The routes of lease holders: one for each action, and one for reports about
 * many leases at once.
 *
 * @module
 */

import { described, named } from "../../../shared/schema/schema.ts";
import { asGiven, list } from "../../../shared/schema/composite.ts";
import {
  MAX_BATCH_FAULTS,
  withFewFaults,
} from "../../../shared/schema/fault.ts";
import { object } from "../../../shared/schema/object.ts";
import { leaseHolder } from "../../engine/leases.ts";
import {
  type Answer,
  problemResult,
  resultsAnswer,
} from "../../http/answer.ts";
import { type Call, getCaller, getTenant } from "../../http/call.ts";
import {
  invalidRequest,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import type { ProblemCode } from "../../http/problem_catalog.ts";
import {
  type AnyRoute,
  defineRoute,
  optionalBody,
  requiredBody,
  type RouteBody,
  type RouteFacts,
  shownNumber,
} from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import {
  type LeaseScrubbers,
  type LogBudget,
  type LogTally,
  MAX_ATTEMPT_LINES,
} from "./held_leases.ts";
import { applyReports, SentReport } from "./lease_report.ts";
import {
  type ActionReport,
  HELD_REPORT,
  LEASE_RESULTS,
  LEASE_STATE,
  type LeaseAction,
  MAX_OUTCOME_BYTES,
  REPORT_BODIES,
} from "./lease_schema.ts";

/** Most reports of a batch. */
const MAX_REPORTS = 1_000;

/** Most bytes of a wait, whose state may be written with escapes. */
const MAX_WAIT_BYTES = 524_288;

/** Most values of a batch: a thousand for each report. */
const MAX_VALUES = 1_048_576;

/**
 * Reports are read one by one, so that an invalid one does not affect the
 * others.
 */
const BATCH = named(
  "LeaseBatch",
  object({
    leases: described(
      list(asGiven(HELD_REPORT.json, [HELD_REPORT]), {
        minItems: 1,
        maxItems: MAX_REPORTS,
      }),
      "The reports, each about one lease",
    ),
  }),
  "Reports about many leases, each of which stands for itself",
);

/** The parts of the routes. */
interface LeaseActionParts {
  /** The parts of all routes. */
  readonly parts: ApiParts;
  /** Finds the scrubber that removes secrets from a report. */
  readonly scrubbers: LeaseScrubbers;
  /** Counts log lines. */
  readonly budget: LogBudget;
}

/** The routes of lease holders. */
export function leaseActionRoutes(
  common: LeaseActionParts,
): readonly AnyRoute[] {
  return [
    batchRoute(common),
    actionRoute({
      ...common,
      action: "heartbeat",
      summary: "Extend a lease",
      description: "Extends the lease, never beyond the time the attempt may " +
        "take. When `canceled` is true, stop the work; when the task was " +
        "removed, the answer is the problem `lease_gone`.",
      body: optionalBody(REPORT_BODIES.heartbeat, {
        example: { progress: { done: 40, of: 100 } },
      }),
      report: (body) => ({ ...body, action: "heartbeat" }),
    }),
    actionRoute({
      ...common,
      action: "complete",
      summary: "Report that the work is done",
      description: "It may be reported twice. Of a result longer than 64 KiB " +
        "the beginning is kept; a body of more than 4 MiB is refused.",
      body: optionalBody(REPORT_BODIES.complete, {
        maxBytes: () => MAX_OUTCOME_BYTES,
        tooLargeAdvice: "say it again without the result",
        example: { result: { sent: true } },
      }),
      report: (body) => ({ ...body, action: "complete" }),
    }),
    actionRoute({
      ...common,
      action: "fail",
      summary: "Report that the work has failed",
      description: "The retry policy decides what follows, unless `retry` is " +
        "false. It may be reported twice.",
      body: optionalBody(REPORT_BODIES.fail, {
        maxBytes: () => MAX_OUTCOME_BYTES,
        tooLargeAdvice: "say it again without the error's detail",
        example: {
          error: { code: "mailbox_full", message: "The mailbox is full" },
          retry_after: "PT10M",
        },
      }),
      report: (body) => ({ ...body, action: "fail" }),
    }),
    actionRoute({
      ...common,
      action: "release",
      summary: "Return a task",
      description: "No try is spent. It may be reported twice.",
      body: optionalBody(REPORT_BODIES.release, {
        example: { reason: "shutting down" },
      }),
      report: (body) => ({ ...body, action: "release" }),
    }),
    actionRoute({
      ...common,
      action: "wait",
      summary: "Wait for an event or an approval",
      description: "Ends the attempt: the task waits without a worker, and " +
        "no try is spent. The event, the decision or the end of the wait's " +
        "time makes it due again; the next lease has that in `resumed`. It " +
        "may be reported twice.",
      body: requiredBody(REPORT_BODIES.wait, {
        maxBytes: () => MAX_WAIT_BYTES,
        example: {
          wait_for: {
            event: "paid",
            timeout: "P3D",
            state: { invoice: 17 },
          },
        },
      }),
      report: (body) => ({ ...body, action: "wait" }),
    }),
    actionRoute({
      ...common,
      action: "log",
      summary: "Add lines to the history of a task",
      description: "Lines that are sent twice are there twice. An attempt " +
        `may have ${shownNumber(MAX_ATTEMPT_LINES)}; of a call with ` +
        "more none are added.",
      problems: ["lease_gone", "quota_exceeded"],
      body: requiredBody(REPORT_BODIES.log, {
        maxBytes: () => 262_144,
        example: { lines: ["connected", "sent 40 of 100"] },
      }),
      report: (body) => ({ ...body, action: "log" }),
    }),
  ];
}

interface ActionRouteOptions<Body>
  extends LeaseActionParts, Pick<RouteFacts, "summary" | "description"> {
  readonly action: LeaseAction;
  /** @default the only problem is that the lease is gone */
  readonly problems?: readonly ProblemCode[];
  readonly body: RouteBody<Body>;
  readonly report: (body: Body) => ActionReport;
}

function actionRoute<Body>(options: ActionRouteOptions<Body>): AnyRoute {
  const { action, summary, description, body, report } = options;
  return defineRoute({
    method: "POST",
    path: `/v1/leases/:id/${action}`,
    hosts: "tenant",
    operationId: `${action}Lease`,
    summary,
    description,
    tags: ["leases"],
    access: { kind: "lease" },
    body,
    answers: {
      200: { description: "Its outcome", shape: LEASE_STATE },
    },
    problems: options.problems ?? ["lease_gone"],
    handle: (call) => handleReport(call, report(call.body), options),
  });
}

async function handleReport(
  call: Call<unknown, unknown>,
  report: ActionReport,
  { parts, scrubbers, budget }: LeaseActionParts,
): Promise<Answer> {
  const { holder } = call;
  if (holder === undefined) {
    throw new TypeError("Cannot find the lease: no token was read");
  }
  const pause = call.pausing.pause();
  if (pause !== undefined) await pause;
  const sent = new SentReport(report, {
    holder,
    scrubber: await scrubbers.finder()(holder),
    tally: report.action === "log" ? await budget.tally(holder) : undefined,
  });
  const outcome = await applyReports(
    [sent],
    () => parts.engine.leases.report(sent),
  );
  return sent.answer(outcome);
}

/** The route for reports about many leases at once, in one commit. */
function batchRoute(parts: LeaseActionParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/leases/batch",
    hosts: "tenant",
    operationId: "sayLeases",
    summary: "Report on many leases",
    description: "Each report is judged by itself and answered in its place, " +
      "as it would be alone. All of them are written in one commit. Reports " +
      "about the same lease are applied in their order. A worker's credential " +
      "reports on its own leases only.",
    tags: ["leases"],
    access: { kind: "worker" },
    body: requiredBody(BATCH, {
      maxBytes: () => MAX_OUTCOME_BYTES,
      maxValues: MAX_VALUES,
      example: {
        leases: [{
          id: "lse_01h455vb4pex5vsknk084sn02q_1",
          token: "lt_Qm9ndXMgdG9rZW4gZm9yIHRoZSBkb2N1bWVudGF0aW9u",
          action: "complete",
          result: { sent: true },
        }],
      },
    }),
    answers: {
      200: { description: "The outcome of each", shape: LEASE_RESULTS },
    },
    problems: [],
    handle: (call) => handleBatch(call, parts),
  });
}

async function handleBatch(
  call: Call<unknown, { readonly leases: readonly unknown[] }>,
  { parts, scrubbers, budget }: LeaseActionParts,
): Promise<Answer> {
  const caller = getCaller(call);
  const tenantId = getTenant(call).id;
  const workerId = caller.kind === "worker" ? caller.workerId : undefined;
  const findScrubber = scrubbers.finder();
  const tallies = new Map<string, LogTally>();
  const read: (SentReport | ProblemAnswer)[] = [];
  let faultsLeft = MAX_BATCH_FAULTS;
  for (const [index, given] of call.body.leases.entries()) {
    const { value: report, faults } = withFewFaults(
      faultsLeft,
      (faults) => HELD_REPORT.read(given, `/leases/${index}`, faults),
    );
    if (report === undefined) {
      faultsLeft -= faults.length;
      read.push(invalidRequest(faults));
    } else {
      const { id: leaseId, token, action } = report;
      const holder = leaseHolder({ tenantId, leaseId, token });
      const scrubber = await findScrubber(holder);
      let tally = tallies.get(leaseId);
      if (action === "log" && tally === undefined) {
        tally = await budget.tally(holder);
        tallies.set(leaseId, tally);
      }
      read.push(new SentReport(report, { holder, scrubber, tally, workerId }));
    }
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  const sent = read.filter((one) => one instanceof SentReport);
  const outcomes = sent.length === 0
    ? []
    : await applyReports(sent, () => parts.engine.leases.reportAll(sent));
  let next = 0;
  const results: string[] = [];
  for (const one of read) {
    const answer = one instanceof SentReport
      ? one.answer(outcomes[next++]!)
      : one;
    results.push(
      answer.kind === "json"
        ? JSON.stringify({ status: 200, lease: answer.value })
        : problemResult(call, answer),
    );
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  return resultsAnswer(results);
}
