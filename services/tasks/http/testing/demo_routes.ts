/**
 * A small route table of notes, which have a title, a date and labels, to test
 * the HTTP code with.
 *
 * @module
 */

import { described, named } from "../../../shared/schema/schema.ts";
import { choice, integer, text } from "../../../shared/schema/values.ts";
import { dateTime } from "../../domain/value_schemas.ts";
import {
  object,
  optional,
  readOnly,
  toChanges,
  withDefault,
} from "../../../shared/schema/object.ts";
import { list, nullable } from "../../../shared/schema/composite.ts";
import { prefixed, querySchema } from "../../../shared/schema/query.ts";
import {
  booleanText,
  commaList,
  integerText,
} from "../../../shared/schema/query_values.ts";
import { empty, json } from "../answer.ts";
import { getTenant } from "../call.ts";
import { formatEtag } from "../etag.ts";
import { problem } from "../problem_answer.ts";
import {
  type AnyRoute,
  defineRoute,
  optionalBody,
  requiredBody,
} from "../route.ts";

const EXAMPLE = {
  id: "note_1",
  title: "Milk",
  kind: "todo",
  due: "2030-01-31T08:30:00.000Z",
  labels: ["home"],
} as const;

/** The members of a note. */
export const NOTE_FIELDS = {
  id: readOnly(described(text(), "Its id")),
  title: described(text({ minLength: 1, maxLength: 200 }), "What to do"),
  kind: withDefault(choice(["todo", "idea"]), "todo"),
  due: optional(nullable(dateTime())),
  labels: withDefault(list(text(), { maxItems: 5, isUnique: true }), []),
};

const NOTE = named(
  "Note",
  described(object(NOTE_FIELDS), {
    description: "A note",
    examples: [EXAMPLE],
  }),
);

const NOTES = named(
  "NoteList",
  described(
    object({
      data: list(NOTE, { maxItems: 200 }),
      next: nullable(text()),
    }),
    { examples: [{ data: [EXAMPLE], next: null }] },
  ),
);

const CHANGES = named("NoteChanges", object(toChanges(NOTE_FIELDS)));

const LIST_QUERY = querySchema({
  limit: withDefault(integerText({ minimum: 1, maximum: 200 }), 50),
  kind: optional(commaList(choice(["todo", "idea"]))),
  count: withDefault(booleanText(), false),
  metadata: prefixed("metadata.", text({ maxLength: 20 })),
});

/** The routes of notes. */
export function demoRoutes(): readonly AnyRoute[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/notes",
      hosts: "tenant",
      operationId: "listNotes",
      summary: "List notes",
      tags: ["notes"],
      access: { kind: "member", role: "viewer", scope: "tasks:read" },
      query: LIST_QUERY,
      answers: { 200: { description: "A page of notes", shape: NOTES } },
      problems: ["bad_cursor"],
      handle: (call) =>
        json({
          data: Array.from({ length: Math.min(call.query.limit, 2) }, () =>
            EXAMPLE),
          next: call.query.kind?.[0] ?? null,
        }),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/notes",
      hosts: "tenant",
      operationId: "createNote",
      summary: "Create a note",
      tags: ["notes"],
      access: { kind: "member", role: "member", scope: "tasks:write" },
      body: requiredBody(NOTE, { example: { title: "Milk" } }),
      answers: {
        201: {
          description: "The note",
          shape: NOTE,
          headers: { Location: "Where the note is" },
        },
      },
      isIdempotent: true,
      problems: ["quota_exceeded"],
      handle: (call) => {
        const { due, ...note } = call.body;
        const value = {
          ...note,
          id: `${getTenant(call).domain}_1`,
          ...due === undefined || due === null
            ? {}
            : { due: new Date(due).toISOString() },
        };
        const headers = { location: `${call.baseUrl}/v1/notes/${value.id}` };
        return json(value, { status: 201, headers });
      },
    }),
    defineRoute({
      method: "POST",
      path: "/v1/notes/batch",
      hosts: "tenant",
      operationId: "createNotes",
      summary: "Create several notes",
      tags: ["notes"],
      access: { kind: "member", role: "member", scope: "tasks:write" },
      body: requiredBody(object({ notes: list(NOTE, { maxItems: 10 }) }), {
        maxBytes: (limits) => limits.batchSize * 1_000,
        example: { notes: [{ title: "Milk" }] },
      }),
      answers: { 204: { description: "They are there" } },
      problems: [],
      handle: () => empty(),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/notes/:id",
      hosts: "tenant",
      operationId: "getNote",
      summary: "Read a note",
      tags: ["notes"],
      access: { kind: "member", role: "viewer", scope: "tasks:read" },
      answers: { 200: { description: "The note", shape: NOTE } },
      conditions: "read",
      problems: [],
      handle: (call) =>
        call.params.id === "note_1"
          ? json(EXAMPLE, { headers: { etag: formatEtag(3) } })
          : problem("not_found", { detail: "Cannot find note: there is none" }),
    }),
    defineRoute({
      method: "PATCH",
      path: "/v1/notes/:id",
      hosts: "tenant",
      operationId: "changeNote",
      summary: "Change a note",
      tags: ["notes"],
      access: { kind: "member", role: "member", scope: "tasks:write" },
      body: requiredBody(CHANGES, {
        mediaTypes: ["application/json", "application/merge-patch+json"],
        example: { title: "Bread" },
      }),
      answers: { 200: { description: "The note", shape: NOTE } },
      conditions: "change",
      problems: ["read_only"],
      handle: (call) =>
        json({ ...EXAMPLE, title: call.body.title ?? EXAMPLE.title }, {
          headers: { etag: formatEtag(4) },
        }),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/notes/:id/snooze",
      hosts: "tenant",
      operationId: "snoozeNote",
      summary: "Put a note off",
      tags: ["notes"],
      access: { kind: "member", role: "member", scope: "tasks:write" },
      body: optionalBody(
        object({ days: withDefault(integer({ minimum: 1, maximum: 9 }), 1) }),
        {
          example: { days: 2 },
        },
      ),
      answers: { 204: { description: "It is put off" } },
      problems: ["wrong_state"],
      handle: (call) => empty({ headers: { days: `${call.body.days}` } }),
    }),
    defineRoute({
      method: "GET",
      path: "/healthz",
      hosts: "any",
      operationId: "health",
      summary: "Check that the service is alive",
      tags: ["service"],
      access: { kind: "public" },
      answers: { 200: { description: "It is", contentType: "text/plain" } },
      problems: [],
      handle: () => ({
        kind: "text",
        status: 200,
        text: "ok\n",
        contentType: "text/plain; charset=utf-8",
      }),
    }),
  ];
}
