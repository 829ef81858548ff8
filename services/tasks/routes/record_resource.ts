/**
 * What the resources of records have in common: a table of fields from which a
 * record is read and shown, the routes that list and read records, and quotas that
 * count them.
 *
 * @module
 */

import type { MaybePromise } from "../../shared/settled.ts";
import type { Field } from "../../shared/schema/object.ts";
import { queryOf } from "../../shared/schema/query.ts";
import {
  described,
  type JsonObject,
  type JsonValue,
  type Schema,
} from "../../shared/schema/schema.ts";
import { text } from "../../shared/schema/values.ts";
import type { Plan } from "../domain/records.ts";
import { countRecords } from "../engine/record_writes.ts";
import type {
  RecordRepository,
  RecordValue,
} from "../engine/record_repository.ts";
import type { Store } from "../store/store.ts";
import type { Access } from "../http/admission.ts";
import { json } from "../http/answer.ts";
import { type CallContext, tenantOf } from "../http/call.ts";
import { answerOfRead } from "../http/etag.ts";
import type { HostKind } from "../http/locate.ts";
import {
  answerPage,
  type Cursors,
  PAGE_FIELDS,
  pageShape,
  readRecordPage,
} from "../http/page.ts";
import { problem, type ProblemAnswer } from "../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../http/route.ts";

/** A field of a record in the API: how it is read, kept and shown. */
interface RecordField<Value, F extends Field> {
  /** What clients may send; read-only for what the service alone decides. */
  readonly field: F;
  /**
   * The member of the record that a change of the field is a change of.
   * @default it cannot be changed, or not by itself
   */
  readonly key?: keyof Value & string;
  /** What is shown of a record. */
  readonly show: (value: Value) => JsonValue;
  /** What a good record shows, for the document. */
  readonly example: JsonValue;
}

/** The fields of a record by name, in the order they are shown in. */
export type RecordTable<Value> = Readonly<
  Record<string, RecordField<Value, Field>>
>;

/** The fields of a table as an object's schema takes them. */
export type FieldsOf<T extends RecordTable<never>> = {
  readonly [Name in keyof T]: T[Name]["field"];
};

/** The fields of a table as an object's schema takes them. */
export function fieldsOf<T extends RecordTable<never>>(table: T): FieldsOf<T> {
  const fields = Object.entries(table).map((
    [name, { field }],
  ) => [name, field]);
  // Each name has its own field.
  return Object.fromEntries(fields) as FieldsOf<T>;
}

/** The examples of a table's fields. */
export type ExampleOf<T extends RecordTable<never>> = {
  readonly [Name in keyof T]: T[Name]["example"];
};

/** The example of a table, for the document. */
export function tableExample<T extends RecordTable<never>>(
  table: T,
): ExampleOf<T> {
  const examples = Object.entries(table)
    .map(([name, { example }]) => [name, example]);
  // Each name has its own example.
  return Object.fromEntries(examples) as ExampleOf<T>;
}

/** Makes the function that shows a record by its table. */
export function viewOf<Value>(
  table: RecordTable<Value>,
): (value: Value) => JsonObject {
  const fields = Object.entries(table);
  return (value) => {
    const view: Record<string, JsonValue> = {};
    for (const [name, { show }] of fields) view[name] = show(value);
    return view;
  };
}

/** What a client changes of a record. */
export interface RecordChanges {
  /** The fields that were sent; what is not there or undefined stays. */
  readonly changes: Readonly<Record<string, unknown>>;
  /**
   * What null stands for in fields without a default.
   * @default it changes nothing
   */
  readonly resets?: Readonly<Record<string, unknown>>;
}

/**
 * A record with the changes of a client, and the names of the fields that are
 * others now; the record itself when there are none.
 */
export function changeRecord<Value extends object>(
  table: RecordTable<Value>,
  record: Value,
  { changes, resets = {} }: RecordChanges,
): { readonly record: Value; readonly changed: readonly string[] } {
  const next: Partial<Record<keyof Value, unknown>> = { ...record };
  const changed: string[] = [];
  for (const [name, { field, key }] of Object.entries(table)) {
    const given = changes[name];
    if (key === undefined || given === undefined) continue;
    const value = given === null ? defaultOf(field) ?? resets[name] : given;
    if (value === undefined || value === record[key]) continue;
    next[key] = value;
    changed.push(name);
  }
  // What was read by a field's schema is what its member holds.
  return { record: changed.length === 0 ? record : next as Value, changed };
}

function defaultOf(field: Field): unknown {
  return "kind" in field && field.kind === "default"
    ? field.fallback
    : undefined;
}

/** An id that begins with this prefix. */
export function shownId(prefix: string): Schema<string> {
  return described(
    text({ minLength: 1, maxLength: 64 }),
    `Its id, which begins with \`${prefix}_\``,
  );
}

/** A time as the API shows it: RFC 3339 in UTC with milliseconds. */
export function shownTime(description: string): Schema<string> {
  return described(text({ maxLength: 27, format: "date-time" }), description);
}

/** How a kind of records is a resource of the API. */
interface RecordResourceOptions<Value extends RecordValue> {
  /** What one is called in messages: `user`. */
  readonly noun: string;
  /** What its operations are called: `get` with the one, `list` with the other. */
  readonly operations: readonly [one: string, several: string];
  /** What the routes do, in a line each. */
  readonly summaries: { readonly list: string; readonly read: string };
  /** What their answers are. */
  readonly answers: { readonly list: string; readonly read: string };
  /**
   * The hosts that offer it.
   * @default {"tenant"}
   */
  readonly hosts?: HostKind;
  /** The path of the list; that of a record follows with `:id`. */
  readonly path: string;
  /**
   * What the last segment of a record's path is called.
   * @default {"id"}
   */
  readonly param?: string;
  /**
   * What the segment is, in messages.
   * @default its name
   */
  readonly namedBy?: string;
  /** What tells cursors of the list from those of others. */
  readonly filter: string;
  /**
   * What else is worth knowing about reading one, in CommonMark.
   * @default nothing
   */
  readonly description?: string;
  /** The groups it is shown in. */
  readonly tags: readonly string[];
  /** Who may read it. */
  readonly access: Access;
  /** The shape of a record. */
  readonly shape: Schema<unknown>;
  /** The name of the shape of a page. */
  readonly pageName: string;
  /** Where the records are. */
  readonly repository: RecordRepository<Value>;
  /** Seals the places where pages go on. */
  readonly cursors: Cursors;
  /**
   * Whose records a call is about.
   * @default those of its tenant
   */
  readonly ownerOf?: (call: Located) => string;
  /**
   * Looks a record up by the segment of its path.
   * @default by its id
   */
  readonly lookUp?: (
    ownerId: string,
    segment: string,
  ) => MaybePromise<Value | undefined>;
  /** Shows a record. */
  readonly view: (
    value: Value,
    call: CallContext,
  ) => MaybePromise<Readonly<Record<string, unknown>>>;
  /** The entity tag of a record. */
  readonly tag: (value: Value) => string;
}

/** Where a call leads. */
type Located = Pick<CallContext, "tenant" | "params">;

/** A kind of records as a resource: finds, lists and shows them. */
export class RecordResource<Value extends RecordValue> {
  readonly #options: RecordResourceOptions<Value>;

  /** Offers nothing until its routes are registered. */
  constructor(options: RecordResourceOptions<Value>) {
    this.#options = options;
  }

  /** The record of a call's path, or the problem that there is none. */
  async find(call: Located): Promise<Value | ProblemAnswer> {
    const { noun, param = "id", namedBy = param } = this.#options;
    const { repository, lookUp } = this.#options;
    const segment = call.params[param] ?? "";
    const ownerId = this.#ownerOf(call);
    const value =
      await (lookUp === undefined
        ? repository.get(ownerId, segment)
        : lookUp(ownerId, segment));
    return value ?? problem("not_found", {
      detail: `Cannot find ${noun}: there is none with this ${namedBy}`,
    });
  }

  /** The route that lists the records, by their ids. */
  listRoute(): AnyRoute {
    const { operations, summaries, answers, path } = this.#options;
    const { shape, pageName, repository, cursors, view } = this.#options;
    const [, several] = operations;
    return defineRoute({
      ...this.#common(),
      path,
      operationId: `list${several}`,
      summary: summaries.list,
      query: queryOf(PAGE_FIELDS),
      answers: {
        200: { description: answers.list, shape: pageShape(pageName, shape) },
      },
      problems: ["bad_cursor"],
      handle: (call) =>
        answerPage(call, {
          cursors,
          tenantId: this.#ownerOf(call),
          filter: this.#options.filter,
          query: call.query,
          url: call.baseUrl + path,
          read: (position) =>
            readRecordPage(repository, {
              tenantId: this.#ownerOf(call),
              query: call.query,
              position,
              view: (value) => view(value, call),
            }),
        }),
    });
  }

  /** The route that reads one record. */
  readRoute(): AnyRoute {
    const { operations, summaries, answers, path } = this.#options;
    const { shape, view, tag, param = "id", description } = this.#options;
    return defineRoute({
      ...this.#common(),
      path: path === "/" ? `/:${param}` : `${path}/:${param}`,
      operationId: `get${operations[0]}`,
      summary: summaries.read,
      description,
      answers: { 200: { description: answers.read, shape } },
      conditions: "read",
      problems: [],
      handle: async (call) => {
        const value = await this.find(call);
        if ("code" in value) return value;
        const etag = tag(value);
        return answerOfRead(call, etag) ??
          json(await view(value, call), { headers: { etag } });
      },
    });
  }

  #ownerOf(call: Located): string {
    return this.#options.ownerOf?.(call) ?? tenantOf(call).id;
  }

  #common() {
    const { hosts = "tenant", tags, access } = this.#options;
    return { method: "GET", hosts, tags, access } as const;
  }
}

/** What is counted, and by what it is bounded. */
interface QuotaOptions {
  /** The kind of records. */
  readonly kind: "user" | "worker";
  /** The tenant. */
  readonly tenantId: string;
  /** Its plan. */
  readonly plan: Plan;
  /** The limit of the plan. */
  readonly limit: "users" | "workers";
}

/**
 * The problem of one more record, if the plan allows none. It holds at the
 * commit if the guard of the set was read before and is written along.
 */
export async function quotaProblem(
  store: Pick<Store, "records">,
  { kind, tenantId, plan, limit }: QuotaOptions,
): Promise<ProblemAnswer | undefined> {
  const allowed = plan.limits[limit];
  if (allowed === null) return undefined;
  const used = await countRecords(store, { kind, tenantId, cap: allowed });
  if (used < allowed) return undefined;
  return quotaExceeded({
    detail: `Cannot create ${kind}: the plan "${plan.id}" allows ` +
      `${allowed} ${limit}`,
    plan,
    allowed,
    used,
  });
}

/** The problem of more than a plan allows. */
export function quotaExceeded(
  { detail, plan, allowed, used }: {
    readonly detail: string;
    readonly plan: Plan;
    readonly allowed: number;
    readonly used: number;
  },
): ProblemAnswer {
  return problem("quota_exceeded", {
    detail,
    extensions: { limit: allowed, used, plan: plan.id },
  });
}
