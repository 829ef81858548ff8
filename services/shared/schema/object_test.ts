import { assert, assertEquals, assertThrows } from "@std/assert";
import { list, nullable, record, refined } from "./composite.ts";
import { choice, integer, text } from "./values.ts";
import {
  object,
  optional,
  readOnly,
  toChanges,
  withDefault,
} from "./object.ts";
import { readOnlyFaults } from "./read_only.ts";
import { readWhole, type Schema } from "./schema.ts";

const FIELDS = {
  id: readOnly(text()),
  worker: text({ minLength: 1 }),
  job: withDefault(text(), "default"),
  priority: withDefault(integer({ minimum: -9, maximum: 9 }), 0),
  retry: optional(nullable(object({ limit: integer() }))),
  tags: optional(list(text(), { maxItems: 3, isUnique: true })),
};
const TASK = object(FIELDS);

Deno.test("object() reads members and puts defaults in", () => {
  assertEquals(readValue(TASK, { worker: "mailer", retry: null }), {
    worker: "mailer",
    job: "default",
    priority: 0,
    retry: null,
  });
});

Deno.test("object() tells every fault with its pointer", () => {
  const faults = findFaults(TASK, {
    prioriti: {},
    priority: 12,
    retry: { limit: "2" },
    tags: ["a", "b", "a"],
  });
  assertEquals(faults.map(({ pointer, code }) => [pointer, code]), [
    ["/prioriti", "unknown_field"],
    ["/priority", "too_large"],
    ["/retry/limit", "wrong_type"],
    ["/tags/2", "repeated"],
    ["/worker", "required"],
  ]);
  assertEquals(
    faults[0]?.detail,
    'Cannot accept field "prioriti": it is unknown; did you mean "priority"?',
  );
});

Deno.test("object() suggests no member that cannot be written", () => {
  const schema = object({
    retries: readOnly(integer()),
    retry: optional(text()),
  });
  assertEquals(
    findFaults(schema, { retires: 2 })[0]?.detail,
    'Cannot accept field "retires": it is unknown; known are "retry"',
  );
});

Deno.test("object() escapes names in pointers", () => {
  assertEquals(
    findFaults(object({}), { "a/b~c": 1 })[0]?.pointer,
    "/a~1b~0c",
  );
});

Deno.test("object() takes __proto__ and constructor for unknown names", () => {
  const body: unknown = JSON.parse(
    '{"worker": "w", "__proto__": {"priority": 5}, "constructor": {"x": 1}}',
  );
  const faults = findFaults(TASK, body);
  assertEquals(faults.map(({ pointer }) => pointer), [
    "/__proto__",
    "/constructor",
  ]);
  assertEquals(({} as Record<string, unknown>).priority, undefined);
  // A member is never found on the prototype either.
  const inherited: unknown = JSON.parse('{"__proto__": {"worker": "w"}}');
  assertEquals(
    findFaults(TASK, inherited).map(({ code }) => code),
    ["unknown_field", "required"],
  );
});

Deno.test("object() refuses members that all objects have", () => {
  assertThrows(() => object({ constructor: text() }), TypeError);
  assertThrows(() => object({ toString: text() }), TypeError);
});

Deno.test("object() tells no more than 50 faults", () => {
  const schema = list(TASK, { maxItems: 1_000 });
  const items = Array.from({ length: 1_000 }, () => ({ worker: 1, job: 2 }));
  assertEquals(findFaults(schema, items).length, 50);
});

Deno.test("record() keeps __proto__ as a member like any other", () => {
  const schema = record(text(), { maxEntries: 5 });
  const value = readValue(schema, JSON.parse('{"__proto__": "x", "a": "b"}'));
  assertEquals(Object.entries(value), [["__proto__", "x"], ["a", "b"]]);
  assertEquals(Object.getPrototypeOf(value), Object.prototype);
});

Deno.test("withDefault() throws when the schema refuses the default", () => {
  assertThrows(
    () => withDefault(integer({ maximum: 5 }), 6),
    TypeError,
    "Cannot use default 6: Cannot accept value: it is greater than 5",
  );
});

Deno.test("toChanges() makes all absent, and null where there is a default", () => {
  const changes = object(toChanges(FIELDS));
  assertEquals(readValue(changes, {}), {});
  assertEquals(readValue(changes, { job: null, tags: null, worker: "w" }), {
    job: null,
    tags: null,
    worker: "w",
  });
  assertEquals(findFaults(changes, { worker: null })[0]?.code, "wrong_type");
});

Deno.test("readOnlyFaults() takes what holds and refuses what does not", () => {
  const schema = object(toChanges({
    ...FIELDS,
    attempt: readOnly(text()),
    links: readOnly(text()),
  }));
  const current = { id: "tsk_1", links: { self: "/a", history: "/b" } };
  const check = (body: unknown): readonly string[] =>
    readOnlyFaults({
      given: readValue(schema, body),
      current,
      fields: { ...FIELDS, attempt: readOnly(text()), links: readOnly(text()) },
    }).map(({ pointer, code }) => `${pointer} ${code}`);
  assertEquals(check({ id: "tsk_1", attempt: null }), []);
  assertEquals(check({ links: { history: "/b", self: "/a" } }), []);
  assertEquals(check({ id: "tsk_2", attempt: "x" }), [
    "/id read_only",
    "/attempt read_only",
  ]);
  assertEquals(check({ links: { self: "/a" } }), ["/links read_only"]);
});

Deno.test("refined() tells the faults of its check at their places", () => {
  const schema = refined(
    object({ date: optional(text()), delay: optional(integer()) }),
    ({ date, delay }) =>
      date !== undefined && delay !== undefined
        ? [{ pointer: "/delay", code: "excluded", reason: "Cannot have both" }]
        : [],
  );
  assertEquals(readValue(schema, { date: "d" }), { date: "d" });
  assertEquals(
    findFaults(object({ a: schema }), { a: { date: "d", delay: 1 } }),
    [
      { pointer: "/a/delay", code: "excluded", detail: "Cannot have both" },
    ],
  );
});

Deno.test("choice() suggests the nearest word and reads aliases", () => {
  const status = choice(["waiting", "canceled"], {
    aliases: { cancelled: "canceled" },
  });
  assertEquals(readValue(status, "cancelled"), "canceled");
  assertEquals(
    findFaults(status, "wating")[0]?.detail,
    'Cannot accept value: "wating" is unknown; did you mean "waiting"?',
  );
  assert(findFaults(status, "constructor").length === 1);
});

Deno.test("text() counts code points and refuses half a surrogate pair", () => {
  const schema = text({ minLength: 2, maxLength: 3 });
  assertEquals(readValue(schema, "😀😀😀"), "😀😀😀");
  assertEquals(findFaults(schema, "😀")[0]?.code, "too_short");
  assertEquals(findFaults(schema, "😀😀😀😀")[0]?.code, "too_long");
  assertEquals(findFaults(schema, "a\ud800")[0]?.code, "not_unicode");
  assertThrows(() => text({ pattern: /a/i }), TypeError);
});

Deno.test("text() never repeats what was sent", () => {
  const schema = text({ maxLength: 4, pattern: /^[a-z]*$/ });
  for (const secret of ["S3CR", "s3cret-value"]) {
    assert(!JSON.stringify(findFaults(schema, secret)).includes(secret));
  }
});

function readValue<T>(schema: Schema<T>, value: unknown): T {
  const outcome = readWhole(schema, value);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.value;
}

function findFaults(
  schema: Schema<unknown>,
  value: unknown,
): readonly { pointer: string; code: string; detail: string }[] {
  const outcome = readWhole(schema, value);
  return outcome.kind === "invalid" ? outcome.faults : [];
}

Deno.test("object() leaves unknown members alone and takes null for absence where asked to", () => {
  const schema = object(
    { name: text(), size: optional(integer()), kind: withDefault(text(), "a") },
    { isOpen: true, isNullAbsent: true },
  );
  const given = { name: "x", size: null, kind: null, more: [1] };
  assertEquals(readWhole(schema, given), {
    kind: "ok",
    value: { name: "x", kind: "a" },
  });
  assertEquals(readWhole(schema, { name: null }).kind, "invalid");
  assertEquals(schema.json.additionalProperties, true);
});
