/**
 * The routes of a kind of records: they list, create, read, change and remove
 * records such as users, keys and workers.
 *
 * @module
 */

import type { Fields } from "../../shared/schema/object.ts";
import { querySchema } from "../../shared/schema/query.ts";
import type { Schema } from "../../shared/schema/schema.ts";
import type { MaybePromise } from "../../shared/settled.ts";
import type {
  RecordRepository,
  RecordValue,
} from "../engine/record_repository.ts";
import type { Store } from "../store/store.ts";
import type { Access } from "../http/admission.ts";
import { type Answer, json, type JsonAnswer } from "../http/answer.ts";
import { type Call, type CallContext, getTenant } from "../http/call.ts";
import { answerOfChange, answerOfRead } from "../http/etag.ts";
import type { HostKind } from "../http/locate.ts";
import {
  answerPage,
  type Cursors,
  PAGE_FIELDS,
  pageShape,
} from "../http/page.ts";
import type { ProblemAnswer } from "../http/problem_answer.ts";
import {
  type AnswerShape,
  type AnyRoute,
  defineRoute,
  requiredBody,
  type Route,
  type RouteBody,
  type RouteFacts,
} from "../http/route.ts";
import {
  type CommitPlan,
  commitPlan,
  noSuchRecord,
  readOnlyProblem,
} from "./record_plan.ts";
import type { RecordView } from "./record_table.ts";

/** How a kind of records is offered as a resource of the API. */
interface RecordResourceOptions<Value extends RecordValue> {
  /** The word for a record in messages: `user`. */
  readonly noun: string;
  /** The word for a record in operation ids: `User`. */
  readonly name: string;
  /**
   * The path of a record: `/v1/users/:id`. The path of the list is the same
   * without the last segment.
   */
  readonly path: string;
  /**
   * The kind of host that offers the routes.
   * @default {"tenant"}
   */
  readonly hosts?: HostKind;
  /** The groups under which the document shows the routes. */
  readonly tags: readonly string[];
  /** Who may read the records, and who may change them. */
  readonly access: { readonly read: Access; readonly write: Access };
  /** The schema of a record. */
  readonly shape: Schema<unknown>;
  /**
   * The fields. Read-only fields that a client sends back are compared with the
   * record.
   * @default read-only fields are not compared
   */
  readonly fields?: Fields;
  /** Where changes are committed. */
  readonly store: Pick<Store, "commit">;
  /** Has the records. */
  readonly repository: RecordRepository<Value>;
  /**
   * Finds the record that a call is about.
   * @default the record of the tenant whose id is the last segment
   */
  readonly find?: (call: Located) => Promise<Value | ProblemAnswer>;
  /** A record as the API shows it. */
  readonly view: (
    value: Value,
    call: CallContext,
  ) => MaybePromise<RecordView>;
  /** The entity tag of a record. */
  readonly tag: (value: Value) => string;
}

/** The parts of a call that name a record. */
type Located = Pick<CallContext, "tenant" | "params">;

/** The body that a client sent. */
type Given = Readonly<Record<string, unknown>>;

/** The plan of a change, or the answer when nothing is to be committed. */
export type Planned = CommitPlan | Answer;

/** Options of the route that lists records. */
interface ListRouteOptions extends Pick<RouteFacts, "summary"> {
  /** The description of the answer. */
  readonly answer: string;
  /** The name of the shape of a page. */
  readonly pageName: string;
  /** Signs the cursors of pages. */
  readonly cursors: Cursors;
  /** The name of the list that cursors are bound to. */
  readonly filter: string;
  /**
   * The tenant whose records are listed.
   * @default the call's tenant
   */
  readonly getOwner?: (call: Located) => string;
}

/** Facts that each route that writes has of its own. */
type OwnFacts = Pick<RouteFacts, "summary" | "description" | "problems">;

/** Options of the route that creates records. */
interface CreateRouteOptions<Body> extends OwnFacts {
  readonly body: RouteBody<Body>;
  readonly answer: AnswerShape;
  readonly plan: (call: Call<unknown, Body>) => Promise<Planned>;
}

/** Options of the routes that change a record. */
interface ChangeRoutesOptions<Value, Body> extends Omit<OwnFacts, "summary"> {
  /** What the routes change, for their summaries: `a user`. */
  readonly of: string;
  readonly body: Schema<Body>;
  /**
   * Headers of the answer, with their meaning.
   * @default none
   */
  readonly headers?: AnswerShape["headers"];
  readonly plan: (call: Call<unknown, Body>, value: Value) => Promise<Planned>;
}

/** Options of the route that removes a record. */
interface RemoveRouteOptions<Value> extends OwnFacts {
  /**
   * Headers of the answer, with their meaning.
   * @default none
   */
  readonly headers?: AnswerShape["headers"];
  readonly plan: (call: CallContext, value: Value) => Promise<Planned>;
}

/** A kind of records with its routes. */
export class RecordResource<Value extends RecordValue> {
  readonly #options: RecordResourceOptions<Value>;
  readonly #listPath: string;
  readonly #common: Pick<RouteFacts, "hosts" | "tags">;

  /** Describes the resource; its routes are made by the methods. */
  constructor(options: RecordResourceOptions<Value>) {
    const { path, hosts = "tenant", tags } = options;
    this.#options = options;
    this.#common = { hosts, tags };
    this.#listPath = path.slice(0, path.lastIndexOf("/")) || "/";
  }

  /**
   * The record that a call's path names, or the problem that it does not exist.
   */
  async find(call: Located): Promise<Value | ProblemAnswer> {
    const { find, repository, noun } = this.#options;
    if (find !== undefined) return await find(call);
    return await repository.get(getTenant(call).id, call.params.id ?? "") ??
      noSuchRecord(noun, "id");
  }

  /** The answer that shows a record, with its entity tag. */
  async answer(value: Value, call: CallContext): Promise<JsonAnswer> {
    const { view, tag } = this.#options;
    return json(await view(value, call), { headers: { etag: tag(value) } });
  }

  /** Commits the plan of a change of the record that a call's path names. */
  commit(
    call: Located,
    plan: (value: Value) => Promise<Planned>,
  ): Promise<Answer> {
    return commitPlan(this.#options.store, async () => {
      const value = await this.find(call);
      return "code" in value ? value : await plan(value);
    });
  }

  /**
   * Commits as {@linkcode commit} does, but only if the call's preconditions
   * hold and the read-only members in `given` are those of the record.
   */
  change(
    call: CallContext,
    plan: (value: Value) => Promise<Planned>,
    given?: Given,
  ): Promise<Answer> {
    const { view, tag, fields } = this.#options;
    return this.commit(call, async (value) => {
      const refused = answerOfChange(call, tag(value));
      if (refused !== undefined) return refused;
      return (given && fields &&
        readOnlyProblem({ given, current: await view(value, call), fields })) ??
        await plan(value);
    });
  }

  /** A further route of the resource, one that changes a record. */
  route<Query, Body>(
    route: Omit<Route<Query, Body>, "hosts" | "tags" | "access">,
  ): AnyRoute {
    return defineRoute<Query, Body>({
      ...this.#common,
      access: this.#options.access.write,
      ...route,
    });
  }

  /** The route that lists the records, ordered by id. */
  listRoute(options: ListRouteOptions): AnyRoute {
    const { name, access, shape, repository, view } = this.#options;
    const { summary, answer, pageName, cursors, filter } = options;
    const { getOwner = (call) => getTenant(call).id } = options;
    const path = this.#listPath;
    return defineRoute({
      ...this.#common,
      access: access.read,
      method: "GET",
      path,
      operationId: `list${name}s`,
      summary,
      query: querySchema(PAGE_FIELDS),
      answers: {
        200: { description: answer, shape: pageShape(pageName, shape) },
      },
      problems: ["bad_cursor"],
      handle: (call) => {
        const { query, baseUrl } = call;
        const tenantId = getOwner(call);
        return answerPage(call, {
          cursors,
          tenantId,
          filter,
          query,
          url: baseUrl + path,
          read: async (position) => {
            const { values, hasMore } = await repository.list(tenantId, {
              limit: query.limit,
              afterId: typeof position === "string" ? position : undefined,
            });
            return {
              data: await Promise.all(values.map((value) => view(value, call))),
              next: hasMore ? values.at(-1)?.id : undefined,
            };
          },
        });
      },
    });
  }

  /** The route that reads one record. */
  readRoute(
    { answer, ...facts }: Omit<OwnFacts, "problems"> & {
      readonly answer: string;
    },
  ): AnyRoute {
    const { name, access, shape, path, tag } = this.#options;
    return defineRoute({
      ...this.#common,
      access: access.read,
      ...facts,
      method: "GET",
      path,
      operationId: `get${name}`,
      answers: { 200: { description: answer, shape } },
      conditions: "read",
      problems: [],
      handle: async (call) => {
        const value = await this.find(call);
        if ("code" in value) return value;
        return answerOfRead(call, tag(value)) ?? await this.answer(value, call);
      },
    });
  }

  /** The route that creates a record. */
  createRoute<Body extends Given>(
    { answer, plan, ...route }: CreateRouteOptions<Body>,
  ): AnyRoute {
    const { name, store, fields } = this.#options;
    return this.route({
      ...route,
      method: "POST",
      path: this.#listPath,
      operationId: `create${name}`,
      answers: { 201: answer },
      isIdempotent: true,
      handle: async (call) =>
        (fields &&
          readOnlyProblem({ given: call.body, current: undefined, fields })) ??
          await commitPlan(store, () => plan(call)),
    });
  }

  /** The routes that change a record: by PUT, and by a merge patch. */
  changeRoutes<Body extends Given>(
    options: ChangeRoutesOptions<Value, Body>,
  ): readonly AnyRoute[] {
    const { name, noun, path, shape } = this.#options;
    const { of, body, headers, plan, description, problems } = options;
    const common = {
      path,
      description,
      answers: { 200: { description: `The ${noun}`, shape, headers } },
      conditions: "change",
      problems,
      handle: (call: Call<unknown, Body>) =>
        this.change(call, (value) => plan(call, value), call.body),
    } as const;
    return [
      this.route({
        ...common,
        method: "PUT",
        operationId: `update${name}`,
        summary: `Change ${of}`,
        body: requiredBody(body),
      }),
      this.route({
        ...common,
        method: "PATCH",
        operationId: `patch${name}`,
        summary: `Change ${of} by a merge patch`,
        body: requiredBody(body, {
          mediaTypes: ["application/merge-patch+json", "application/json"],
        }),
      }),
    ];
  }

  /** The route that removes a record. */
  removeRoute(
    { headers, plan, ...route }: RemoveRouteOptions<Value>,
  ): AnyRoute {
    const { name, noun, path } = this.#options;
    return this.route({
      ...route,
      method: "DELETE",
      path,
      operationId: `remove${name}`,
      answers: { 204: { description: `The ${noun} is gone`, headers } },
      conditions: "change",
      handle: (call) => this.change(call, (value) => plan(call, value)),
    });
  }
}
