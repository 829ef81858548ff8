/**
 * The routes of calendars: they put an iCalendar file in the place of a name,
 * list, read and remove calendars.
 *
 * @module
 */

import { MAX_EVENTS } from "../../domain/icalendar_lines.ts";
import {
  MAX_ICALENDAR_CHARS,
  MAX_SPANS,
  readICalendar,
} from "../../domain/icalendar.ts";
import { utcTime } from "../../domain/instant.ts";
import { CALENDAR_NAME } from "../../domain/value_schemas.ts";
import {
  followCalendar,
  isCalendarUsed,
} from "../../engine/calendar_changes.ts";
import type { Calendar } from "../../engine/repositories.ts";
import { readGuard } from "../../engine/record_writes.ts";
import { type Answer, empty, json } from "../../http/answer.ts";
import { type Call, type CallContext, getTenant } from "../../http/call.ts";
import { answerOfChange, answerOfRead, formatEtag } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import {
  type AnyRoute,
  defineRoute,
  requiredBody,
  shownNumber,
} from "../../http/route.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import {
  described,
  named,
  readWhole,
  type ValueOf,
} from "../../../shared/schema/schema.ts";
import { integer, text } from "../../../shared/schema/values.ts";
import type { ApiParts } from "../api_parts.ts";
import {
  buildAuditWrite,
  commitPlan,
  fixedQuotaProblem,
  noSuchRecord,
} from "../record_plan.ts";
import { type Planned, RecordResource } from "../record_resource.ts";
import { type RecordView, shownTime } from "../record_table.ts";
import { READS_TASKS, WRITES_TASKS } from "../tasks/task_schema.ts";

/** The most calendars of a tenant. */
const MAX_CALENDARS = 100;

/** Room for the longest file, whose line ends are escaped in JSON. */
const MAX_BODY_BYTES = 1_048_576;

const PATH = "/v1/calendars/:name";

const ICAL = text({ minLength: 1, maxLength: MAX_ICALENDAR_CHARS });

const ICAL_EXAMPLE = [
  "BEGIN:VCALENDAR",
  "VERSION:2.0",
  "BEGIN:VEVENT",
  "UID:christmas@example.com",
  "DTSTART;VALUE=DATE:20271225",
  "DTEND;VALUE=DATE:20271227",
  "RRULE:FREQ=YEARLY",
  "END:VEVENT",
  "END:VCALENDAR",
  "",
].join("\r\n");

const FILE = named(
  "CalendarFile",
  object({ ical: described(ICAL, "An iCalendar file (RFC 5545)") }),
  {
    description: "The times that a calendar leaves out",
    examples: [{ ical: ICAL_EXAMPLE }],
  },
);

type FileInput = ValueOf<typeof FILE>;

const CALENDAR = named(
  "Calendar",
  object({
    name: described(
      text({ maxLength: 64 }),
      "What `repeat.calendars` calls it",
    ),
    events: described(
      integer({ minimum: 0, maximum: MAX_EVENTS }),
      "How many events it has",
    ),
    spans: described(
      integer({ minimum: 0, maximum: MAX_SPANS }),
      "How many spans of time they cover, each time of a rule counted",
    ),
    created_at: shownTime("When it was created"),
    updated_at: shownTime("When its file was last replaced"),
    version: described(
      integer({ minimum: 1 }),
      "Grows by one with each change",
    ),
    ical: optional(ICAL, "Its file, in the answer about this calendar alone"),
    tasks_moved: optional(
      integer({ minimum: 0 }),
      "How many tasks have another date now, in the answer to PUT",
    ),
  }),
  {
    description: "Times at which the schedules that name it have no slots",
    examples: [{
      name: "holidays",
      events: 1,
      spans: 73,
      created_at: "2027-01-15T08:00:00.000Z",
      updated_at: "2027-01-15T08:00:00.000Z",
      version: 1,
    }],
  },
);

/** Makes the routes of calendars. */
export function calendarRoutes(api: ApiParts): readonly AnyRoute[] {
  const { store, repositories } = api.engine.parts;
  const resource = new RecordResource<Calendar>({
    noun: "calendar",
    name: "Calendar",
    path: PATH,
    tags: ["schedules"],
    access: { read: READS_TASKS.access, write: WRITES_TASKS },
    shape: CALENDAR,
    store,
    repository: repositories.calendars,
    find: async (call) => await find(call, api) ?? noCalendar(),
    view: viewCalendar,
    tag: formatTag,
  });
  const common = {
    path: PATH,
    hosts: "tenant",
    tags: ["schedules"],
    params: { name: CALENDAR_NAME },
  } as const;
  return [
    defineRoute({
      ...common,
      method: "PUT",
      operationId: "putCalendar",
      summary: "Create a calendar, or replace its file",
      description: "Schedules that name the calendar in `repeat.calendars` " +
        "have no slots at the times of its events. Whole days are days of " +
        "the schedule's time zone; rules (RRULE) by years and weeks are " +
        `followed up to the year 2100. A file has ${
          shownNumber(MAX_ICALENDAR_CHARS)
        } characters, ${shownNumber(MAX_EVENTS)} events and ${
          shownNumber(MAX_SPANS)
        } spans of time at the most, and a tenant ${MAX_CALENDARS} calendars. ` +
        "Tasks that wait for a slot have it found again before the answer; " +
        "sending the same file again does what a failure has left.",
      access: WRITES_TASKS,
      body: requiredBody(FILE, { maxBytes: () => MAX_BODY_BYTES }),
      answers: {
        200: { description: "The calendar", shape: CALENDAR },
        201: { description: "The new calendar", shape: CALENDAR },
      },
      conditions: "change",
      problems: ["quota_exceeded"],
      handle: (call) => putCalendar(call, api),
    }),
    resource.listRoute({
      summary: "List calendars",
      answer: "A page of calendars, by their names",
      pageName: "CalendarList",
      cursors: api.cursors,
      filter: "calendars",
    }),
    defineRoute({
      ...common,
      ...READS_TASKS,
      tags: common.tags,
      operationId: "getCalendar",
      summary: "Read a calendar with its file",
      answers: { 200: { description: "The calendar", shape: CALENDAR } },
      conditions: "read",
      problems: [],
      handle: (call) => readCalendar(call, api),
    }),
    resource.removeRoute({
      summary: "Remove a calendar",
      description: "Only while no live task names it.",
      problems: ["calendar_in_use"],
      plan: (call, calendar) => planRemoval(call, calendar, api),
    }),
  ];
}

async function find(
  call: Pick<CallContext, "tenant" | "params">,
  { engine }: ApiParts,
): Promise<Calendar | undefined> {
  const { calendars } = engine.parts.repositories;
  return await calendars.get(getTenant(call).id, call.params.name ?? "");
}

function noCalendar(): ProblemAnswer {
  return noSuchRecord("calendar", "name");
}

function formatTag({ version }: Calendar): string {
  return formatEtag(version);
}

function viewCalendar(calendar: Calendar): RecordView {
  const { id, events, walls, instants, version } = calendar;
  return {
    name: id,
    events,
    spans: (walls.length + instants.length) / 2,
    created_at: utcTime(calendar.createdAtMs),
    updated_at: utcTime(calendar.updatedAtMs),
    version,
  };
}

async function readCalendar(
  call: CallContext,
  api: ApiParts,
): Promise<Answer> {
  const calendar = await find(call, api);
  if (calendar === undefined) return noCalendar();
  const tag = formatTag(calendar);
  const unread = answerOfRead(call, tag);
  if (unread !== undefined) return unread;
  const ical = await loadFile(calendar, api);
  return json({ ...viewCalendar(calendar), ical }, { headers: { etag: tag } });
}

/** The file of a calendar, which is too long to be kept in the cache. */
async function loadFile(
  { tenantId, id }: Pick<Calendar, "tenantId" | "id">,
  { engine }: ApiParts,
): Promise<string | undefined> {
  const { store, repositories } = engine.parts;
  const record = await store.record("calendar_file", tenantId, id);
  return record && repositories.calendarFiles.parse(record).ical;
}

async function putCalendar(
  call: Call<unknown, FileInput>,
  api: ApiParts,
): Promise<Answer> {
  const { ical } = call.body;
  const name = readWhole(CALENDAR_NAME, call.params.name);
  if (name.kind === "invalid") {
    return invalidRequest(
      name.faults.map(({ code, detail }) => ({
        parameter: "name",
        code,
        detail,
      })),
    );
  }
  const read = readICalendar(ical);
  if (read.kind === "invalid") {
    const fault = {
      pointer: "/ical",
      code: "bad_calendar",
      detail: read.reason,
    };
    return invalidRequest([fault]);
  }
  const { engine: { parts } } = api;
  const answer = async (next: Calendar, status: number): Promise<Answer> => {
    const moved = await followCalendar(api.engine, next.tenantId, next.id);
    return json({ ...viewCalendar(next), tasks_moved: moved }, {
      status,
      headers: { etag: formatTag(next) },
    });
  };
  return await commitPlan(parts.store, async () => {
    const before = await find(call, api);
    const refused = before === undefined
      ? call.header("if-match") === undefined ? undefined : noCalendar()
      : answerOfChange(call, formatTag(before));
    if (refused !== undefined) return refused;
    if (before !== undefined && await loadFile(before, api) === ical) {
      return await answer(before, 200);
    }
    const next: Calendar = {
      tenantId: getTenant(call).id,
      id: name.value,
      version: (before?.version ?? 0) + 1,
      events: read.events,
      walls: read.closed.walls,
      instants: read.closed.instants,
      createdAtMs: before?.createdAtMs ?? call.nowMs,
      updatedAtMs: call.nowMs,
    };
    const { calendars, calendarFiles } = parts.repositories;
    const { tenantId, id, version } = next;
    const file = { tenantId, id, version, ical };
    const audit = buildAuditWrite(call, {
      action: before === undefined ? "calendar.created" : "calendar.changed",
      target: id,
    });
    if (before !== undefined) {
      return {
        kind: "plan",
        writes: [
          calendars.update(before, next),
          calendarFiles.update({ ...before, ical }, file),
          audit,
        ],
        answer: () => answer(next, 200),
      };
    }
    const guard = await readGuard(parts, tenantId, "calendars");
    const full = await fixedQuotaProblem(call, api, {
      kind: "calendar",
      limit: MAX_CALENDARS,
    });
    return full ?? {
      kind: "plan",
      writes: [
        guard,
        calendars.insert(next),
        calendarFiles.insert(file),
        audit,
      ],
      answer: () => answer(next, 201),
    };
  });
}

async function planRemoval(
  call: CallContext,
  calendar: Calendar,
  { engine: { parts } }: ApiParts,
): Promise<Planned> {
  const { tenantId, id } = calendar;
  if (await isCalendarUsed(parts, tenantId, id)) {
    return problem("calendar_in_use", {
      detail: "Cannot remove calendar: live tasks name it; remove it from " +
        "their `repeat.calendars`, or replace its file by one without events",
    });
  }
  const { calendars, calendarFiles } = parts.repositories;
  return {
    kind: "plan",
    writes: [
      calendars.remove(calendar),
      calendarFiles.remove({ ...calendar, ical: "" }),
      buildAuditWrite(call, { action: "calendar.removed", target: id }),
    ],
    answer: empty(),
  };
}
