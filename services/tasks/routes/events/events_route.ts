/**
 * The route that tells a tenant's events as they happen, as server-sent events
 * (HTML, "Server-sent events").
 *
 * @module
 */

import { MAX_DURATION_CHARS } from "../../../shared/duration.ts";
import { optional } from "../../../shared/schema/object.ts";
import { type QuerySchema, querySchema } from "../../../shared/schema/query.ts";
import { commaList } from "../../../shared/schema/query_values.ts";
import { createSchema } from "../../../shared/schema/schema.ts";
import { text } from "../../../shared/schema/values.ts";
import { getScopes } from "../../access/caller.ts";
import type { Scope, ScopeSet } from "../../access/scope.ts";
import {
  EVENT_TYPES,
  type EventSubject,
  type EventType,
  meaningOf,
  selectTypes,
  subjectOf,
} from "../../domain/event_types.ts";
import { durationMs } from "../../domain/value_schemas.ts";
import { toFilter } from "../../engine/events/event_batch.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, getCaller, getTenant } from "../../http/call.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { noSuchWorker } from "../workers/worker_resource.ts";
import type { ApiParts } from "../api_parts.ts";
import { AccessWatch } from "./access_watch.ts";

/** The scope that a caller needs for events about something. */
export const EVENT_SCOPES: Readonly<Record<EventSubject, Scope>> = {
  tasks: "tasks:read",
  workers: "workers:read",
  account: "account:read",
  audit: "audit:read",
  webhooks: "webhooks:read",
};

const MIN_EVERY_MS = 100;
const MAX_EVERY_MS = 60_000;
const MAX_TYPE_CHARS = 64;
const MAX_CURSOR_CHARS = 100;
const MAX_NAME_CHARS = 128;

const EVERY = durationMs({ minimumMs: MIN_EVERY_MS, maximumMs: MAX_EVERY_MS });

const EVENTS_QUERY = querySchema({
  type: optional(
    commaList(text({ maxLength: MAX_TYPE_CHARS })),
    "Only these types; `task.*` stands for all that begin so",
  ),
  task: optional(
    text({ maxLength: MAX_NAME_CHARS }),
    "Only events of the task with this id",
  ),
  worker: optional(
    text({ maxLength: MAX_NAME_CHARS }),
    "Only events of this worker and its tasks: an id or a name",
  ),
  job: optional(
    text({ maxLength: MAX_NAME_CHARS }),
    "Only events of tasks of this job",
  ),
  after: optional(
    text({ maxLength: MAX_CURSOR_CHARS }),
    "Begins after the event with this `id`, as the header Last-Event-ID does",
  ),
  every: optional(
    createSchema(
      { type: "string", maxLength: MAX_DURATION_CHARS, examples: ["PT1S"] },
      (value, at, faults) => EVERY.read(value, at, faults),
    ),
    "Tells how many events of each type there were, in one event `digest` at " +
      "most so often, in place of the events: 0.1 to 60 seconds",
  ),
});

type EventsCall = Call<
  typeof EVENTS_QUERY extends QuerySchema<infer Input> ? Input : never,
  unknown
>;

const EXAMPLE = `retry: 2000
id: 4f1c9a70b2de8356-41

id: 4f1c9a70b2de8356-42
event: task.completed
data: {"type":"task.completed","timestamp":"2027-01-15T08:00:00.021Z",…}

`;

/** The route of events. */
export function eventsRoute({ engine }: ApiParts): AnyRoute {
  const watch = new AccessWatch(engine);
  return defineRoute({
    method: "GET",
    path: "/v1/events",
    hosts: "tenant",
    operationId: "readEvents",
    summary: "Read events as they happen",
    description:
      "Server-sent events, for as long as the client reads. `data` " +
      "is JSON with `type`, `timestamp`, `id` and `data`; it has neither " +
      "payloads nor results. A client that was cut off sends the last `id` as " +
      "Last-Event-ID and goes on behind it, at any instance. Events are kept " +
      "for a day, at most 100,000 of a tenant; where some are missing, an " +
      "event `reset` comes first. A client that reads too slowly gets the " +
      "event `cut` and comes again. The stream ends when the credential does. " +
      "Which events a caller sees follows from its scopes. The types:\n\n" +
      EVENT_TYPES.map((type) =>
        `- \`${type}\` (\`${EVENT_SCOPES[subjectOf(type)]}\`): ${
          meaningOf(type)
        }`
      ).join("\n"),
    tags: ["events"],
    access: { kind: "member", role: "viewer", scope: "tasks:read" },
    query: EVENTS_QUERY,
    answers: {
      200: {
        description: "The events, one after the other",
        contentType: "text/event-stream",
        shape: text(),
        example: EXAMPLE,
      },
    },
    problems: ["stopping"],
    handle: (call) => readEvents(call, { engine, watch }),
  });
}

async function readEvents(
  call: EventsCall,
  { engine, watch }: Pick<ApiParts, "engine"> & {
    readonly watch: AccessWatch;
  },
): Promise<Answer> {
  const { query } = call;
  const { id: tenantId } = getTenant(call);
  const { events, workers } = engine.parts;
  const scopes = getScopes(getCaller(call));
  const selected = select(query.type, scopes);
  if (selected.kind === "problem") return selected;
  const worker = query.worker === undefined
    ? undefined
    : await workers.find(tenantId, query.worker);
  if (query.worker !== undefined && worker === undefined) return noSuchWorker();
  const opened = await events.open({
    tenantId,
    after: query.after ?? readLastId(call.header("last-event-id")),
    everyMs: query.every,
    filter: toFilter({
      types: selected.types,
      taskId: query.task,
      workerId: worker?.id,
      job: query.job,
    }),
  });
  if (opened.kind === "stopping") {
    return problem("stopping", { retryAfterMs: 1_000 });
  }
  if (opened.kind === "full") {
    const detail = "Cannot read events: as many read them as are allowed";
    return opened.of === "tenant"
      ? problem("rate_limited", { detail, retryAfterMs: 10_000 })
      : problem("overloaded", { detail, retryAfterMs: 10_000 });
  }
  const { reader } = opened;
  const reauthorize = call.reauthorizer();
  watch.add({ reader, tenantId, scopes, reauthorize });
  // Before the answer is given; from then on the server cancels the stream.
  call.onGone(() => reader.cancel());
  return {
    kind: "stream",
    status: 200,
    stream: reader,
    contentType: "text/event-stream",
    // Proxies such as nginx would hold events back until there are many.
    headers: { "x-accel-buffering": "no" },
  };
}

/** The types that are asked for and that the caller may see. */
function select(
  patterns: readonly string[] | undefined,
  scopes: ScopeSet,
): { kind: "ok"; types: ReadonlySet<EventType> } | ProblemAnswer {
  const asked = selectTypes(patterns ?? ["*"]);
  if (asked === undefined) {
    return invalidRequest([{
      parameter: "type",
      code: "not_allowed",
      detail: "Cannot select events: one of the types is unknown; known are " +
        EVENT_TYPES.join(", "),
    }]);
  }
  const types = new Set(
    [...asked].filter((type) => scopes.has(EVENT_SCOPES[subjectOf(type)])),
  );
  const [denied] = asked;
  if (types.size > 0 || denied === undefined) return { kind: "ok", types };
  const scope = EVENT_SCOPES[subjectOf(denied)];
  return problem("forbidden", {
    detail: `Cannot read events of these types: that needs the scope ${scope}`,
    extensions: { scope },
  });
}

/** The header of a client that comes again; nothing when it says nothing. */
function readLastId(header: string | undefined): string | undefined {
  return header === undefined || header === "" ? undefined : header;
}
