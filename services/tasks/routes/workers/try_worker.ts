/**
 * The route that tests a worker: makes one call to its URL and stores nothing.
 *
 * @module
 */

import { nullable, record } from "../../../shared/schema/composite.ts";
import { jsonText } from "../../../shared/schema/json_value.ts";
import {
  object,
  type ObjectOf,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import { prepareTask } from "../../engine/create_request.ts";
import { toActor } from "../../access/caller.ts";
import { judgeAnswer, type PushOutcome } from "../../delivery/push_answer.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { BLANK_DEFINITION, type Task } from "../../domain/task.ts";
import {
  durationMs,
  JOB_NAME,
  MAX_URL_CHARS,
} from "../../domain/value_schemas.ts";
import {
  buildPushRequest,
  type CallPlan,
  newTraceparent,
  planCall,
  type PushRequestOutcome,
} from "../../engine/push_request.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, getCaller, getLimits, getTenant } from "../../http/call.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, optionalBody } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import type { RecordResource } from "../record_resource.ts";
import { viewTask } from "../tasks/task_view.ts";
import { noSuchWorker } from "./worker_resource.ts";

/** Most characters of the worker's answer that are shown. */
const MAX_TRIAL_BODY_CHARS = 16_384;

/** The members of the body that tests a worker. */
const TRIAL_FIELDS = {
  job: withDefault(
    JOB_NAME,
    "default",
    "The handler that is tried; its own `url` is called if it has one",
  ),
  data: withDefault(
    jsonText({ maxBytes: 1_048_576 }),
    null,
    "What the call gives it, as a task would",
  ),
  timeout: withDefault(
    durationMs({
      takesMs: true,
      minimumMs: 1_000,
      maximumMs: 30_000,
    }),
    "PT10S",
    "How long the call may take",
  ),
};

/** The body that tests a worker, after reading. */
type Trial = ObjectOf<typeof TRIAL_FIELDS>;

/** The schema of the body that tests a worker. */
const TRIAL: Schema<Trial> = named(
  "WorkerTest",
  object(TRIAL_FIELDS),
  "A call that tries a push worker, without a task",
);

/** The schema of the outcome of a test. */
const TRIAL_RESULT: Shape = named(
  "WorkerTestResult",
  object({
    call: described(
      object({
        method: described(
          choice(["POST", "PUT", "PATCH"]),
          "How the worker was called",
        ),
        url: described(
          text({ maxLength: MAX_URL_CHARS }),
          "With its references",
        ),
        id: described(nullable(text()), "The `webhook-id` of the call"),
        signatures: described(
          integer({ minimum: 0 }),
          "How many keys it was signed with",
        ),
      }),
      "What was sent",
    ),
    outcome: described(
      choice(["succeeded", "accepted", "failed"]),
      "What it would have meant for a task",
    ),
    duration: described(nullable(integer({ minimum: 0 })), "Milliseconds"),
    answer: nullable(described(
      object({
        status: described(
          integer({ minimum: 100, maximum: 599 }),
          "The HTTP status code",
        ),
        headers: described(
          record(text({ maxLength: 65_536 }), { maxEntries: 20 }),
          "Those that tell how it is taken",
        ),
        body: described(
          text({ maxLength: MAX_TRIAL_BODY_CHARS }),
          "As text, without the worker's secrets",
        ),
        truncated: described(boolean(), "Whether `body` is only its beginning"),
      }),
      "What the worker answered; null when nothing came",
    )),
    error: nullable(described(
      object({
        code: described(text(), "A word for programs, such as `timed_out`"),
        message: described(
          text({ maxLength: 65_536 }),
          "A message for people",
        ),
      }),
      "What a task would have failed by; null when it would not have",
    )),
  }),
  {
    description: "How a worker answered when it was tried",
    examples: [{
      call: {
        method: "POST",
        url: "https://mailer.example.com/tasks",
        id: "tsk_01h455vb4pex5vsknk084sn02q.0",
        signatures: 1,
      },
      outcome: "succeeded",
      duration: 42,
      answer: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: '{"ok":true}',
        truncated: false,
      },
      error: null,
    }],
  },
);

/** The route that tests a worker. */
export function tryWorkerRoute(
  parts: ApiParts,
  resource: RecordResource<WorkerDefinition>,
): AnyRoute {
  return resource.route({
    method: "POST",
    path: "/v1/workers/:id/test",
    operationId: "testWorker",
    summary: "Test a worker with a task that is not stored",
    description: "The call is that of a real attempt: signed, with the " +
      "worker's headers and secrets, to the same addresses and no others. " +
      "`data.test` of its body is true. Nothing of it is stored.",
    body: optionalBody(TRIAL, {
      maxBytes: (limits) => limits.payloadBytes + 4_096,
      example: { job: "welcome", data: { to: "ada@example.com" } },
    }),
    answers: { 200: { description: "What came back", shape: TRIAL_RESULT } },
    isIdempotent: true,
    hasOutsideEffect: true,
    problems: ["wrong_state", "secrets_unavailable"],
    async handle(call) {
      const worker = await resource.find(call);
      if ("code" in worker) return worker;
      return worker.url === undefined
        ? problem("wrong_state", {
          detail: "Cannot call the worker: it has no url; it asks for tasks " +
            "itself",
          extensions: { state: worker.kind },
        })
        : await tryWorker(call, { parts, worker });
    },
  });
}

async function tryWorker(
  call: Call<unknown, Trial>,
  { parts, worker }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
  },
): Promise<Answer> {
  const { engine, vault, caller } = parts;
  const task = buildTask(call, { parts, worker });
  const plan = await planCall(task, {
    parts: engine.parts,
    vault,
    view: (task, options) => viewTask(task, { ...options, payloads: true }),
    // The token has the form of a real one, but works nowhere.
    token: "lt_test",
  });
  // The worker was removed just now.
  if (plan === undefined) return noSuchWorker();
  const made = buildPushRequest({
    ...plan,
    data: { ...plan.data, test: true },
    task,
    nowMs: call.nowMs,
    traceparent: newTraceparent(),
  });
  const ending = new AbortController();
  const stayed = call.onGone(() => ending.abort());
  try {
    const outcome: PushOutcome = made.kind === "ok"
      ? await caller.call({
        ...made.request,
        timeoutMs: call.body.timeout,
        signal: ending.signal,
      })
      : { kind: "refused", code: "bad_header", reason: made.reason };
    return json({
      call: {
        method: worker.method,
        // The template is shown, since the URL itself may have secrets.
        url: plan.url,
        id: getId(made),
        signatures: plan.signing.length,
      },
      ...describeResult(outcome, plan),
    });
  } finally {
    stayed();
  }
}

/** A task as it would be at its first attempt. */
function buildTask(
  call: Call<unknown, Trial>,
  { parts, worker }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
  },
): Task {
  const { engine } = parts;
  const { nowMs, body: trial } = call;
  const { id: tenantId, timezone } = getTenant(call);
  const { task } = prepareTask({
    worker,
    definition: {
      ...BLANK_DEFINITION,
      workerId: worker.id,
      job: trial.job,
      dataJson: trial.data,
      timezone,
    },
    isPaused: false,
    states: [],
  }, {
    tenantId,
    actor: toActor(getCaller(call)),
    retentionMs: getLimits(call).retentionMs,
    parts: engine.parts,
  });
  return {
    ...task,
    status: "running",
    isDue: false,
    fence: 1,
    startedAtMs: nowMs,
    attempt: {
      id: `lse_${task.id.slice(4)}_1`,
      tokenHash: "",
      startedAtMs: nowMs,
      expiresAtMs: nowMs + trial.timeout,
      deadlineMs: nowMs + trial.timeout,
      leaseMs: worker.leaseMs,
    },
  };
}

function getId(made: PushRequestOutcome): string | null {
  return made.kind === "ok" ? made.request.headers["webhook-id"] ?? null : null;
}

function describeResult(
  outcome: PushOutcome,
  { scrubber }: Pick<CallPlan, "scrubber">,
): Readonly<Record<string, unknown>> {
  const clean = (text: string): string => scrubber?.scrubText(text) ?? text;
  const verdict = judgeAnswer(outcome);
  const fault = verdict.kind === "failed"
    ? verdict
    : verdict.kind === "succeeded"
    ? { failure: { code: "bad_answer" }, message: verdict.message }
    : undefined;
  const error = fault?.message === undefined ? null : {
    code: outcome.kind === "refused" ? outcome.code : fault.failure.code,
    message: clean(fault.message),
  };
  if (outcome.kind !== "answered") {
    return {
      outcome: verdict.kind,
      duration: outcome.kind === "failed" ? outcome.durationMs : null,
      answer: null,
      error,
    };
  }
  // A secret that is cut cannot be recognized, so the text is scrubbed first
  // and cut last.
  const { bodyText, isTruncated } = outcome;
  const body = scrubber?.scrubText(bodyText, { isCut: isTruncated }) ??
    bodyText;
  const shown = body.slice(0, MAX_TRIAL_BODY_CHARS).toWellFormed();
  return {
    outcome: verdict.kind,
    duration: outcome.durationMs,
    answer: {
      status: outcome.status,
      headers: Object.fromEntries(
        Object.entries(outcome.headers).map(([name, value]) => [
          name,
          clean(value),
        ]),
      ),
      body: shown,
      truncated: isTruncated || shown.length < body.length,
    },
    error,
  };
}
