/**
 * The API over a store on PostgreSQL, with a role of the database that may
 * enqueue tasks of its tenant, for tests.
 *
 * @module
 */

import { FairTurns } from "../../../../shared/fair_turns.ts";
import { systemClock } from "../../../../shared/clock.ts";
import type { Session } from "../../../../shared/postgres/session.ts";
import { hashSecret } from "../../../access/credential_token.ts";
import type { Inbox } from "../../../store/inbox.ts";
import {
  addEnqueueRole,
  removeEnqueueRole,
} from "../../../store/postgres/enqueue_roles.ts";
import type { PostgresStore } from "../../../store/postgres/postgres_store.ts";
import { withSchema } from "../../../store/postgres/schema_access.ts";
import {
  openSubject,
  type PostgresSubject,
  SILENT,
  TEST_SERVER,
} from "../../../store/postgres/testing/postgres_subject.ts";
import type { Store } from "../../../store/store.ts";
import { allRoutes } from "../../all_routes.ts";
import {
  openTestApi,
  type TestApi,
  type TestApiOptions,
} from "../../testing/test_api.ts";
import { openOperations } from "../bulk_routes.ts";
import { InboxWorker } from "../inbox_worker.ts";

/** The token of the operator. */
export const OPERATOR_TOKEN = "operator-token";

/** An instance of the service in a test. */
export interface InboxInstance {
  /** Its API. */
  readonly api: TestApi;
  /** Takes requests over; not started. */
  readonly worker: InboxWorker;
  /** What became of requests, in the order of their ends. */
  readonly ended: readonly string[];
}

/** What a test works with. */
export interface InboxBed extends InboxInstance {
  /** The schema with its store. */
  readonly subject: PostgresSubject;
  /** A connection of the role that may enqueue for the tenant "acme". */
  readonly session: Session;
  /** The name of that role. */
  readonly role: string;
  /**
   * Enqueues a task for the worker "mailer" and returns the request's number.
   */
  enqueue(
    data: unknown,
    options?: Readonly<Record<string, unknown>>,
    key?: string | null,
  ): Promise<number>;
  /** Takes requests over until none is left that can be. */
  drain(): Promise<void>;
  /** The data of all tasks, in the order of their creation. */
  data(): Promise<readonly unknown[]>;
  /** Opens another instance on the same schema. */
  another(wrap?: Wrap): Promise<InboxInstance>;
  /** Makes a role that may log in, and maps it to a tenant if one is named. */
  addRole(domain?: string): Promise<string>;
  /** Closes everything and drops the roles. */
  close(): Promise<void>;
}

/** Stands between an instance and its store. */
type Wrap = (store: PostgresStore) => Store;

/** Options of {@linkcode openInboxBed}. */
interface InboxBedOptions extends Pick<TestApiOptions, "limits"> {
  /** Stands between the first instance and its store. @default nothing */
  readonly wrap?: Wrap;
}

/** Opens an instance with a tenant, a worker and a role. */
export async function openInboxBed(
  { limits, wrap }: InboxBedOptions = {},
): Promise<InboxBed> {
  const subject = await openSubject();
  const { schema } = subject;
  const roles: string[] = [];
  const apis: TestApi[] = [];
  const instance = async (
    store: Store,
    more: Partial<TestApiOptions>,
  ): Promise<InboxInstance> => {
    const api = await openTestApi({
      store,
      operatorDigests: [hashSecret(OPERATOR_TOKEN)],
      routes: (parts) =>
        allRoutes(parts, { operations: openOperations(parts.engine) }),
      ...(limits === undefined ? {} : { limits }),
      ...more,
    });
    apis.push(api);
    const ended: string[] = [];
    const worker = new InboxWorker({
      parts: api.parts,
      inbox: inboxOf(store),
      turns: new FairTurns(),
      onEnded: (outcome) => void ended.push(outcome),
    });
    return { api, worker, ended };
  };
  const addRole = async (domain?: string): Promise<string> => {
    const role = `app${roles.length}_${schema}`;
    roles.push(role);
    await TEST_SERVER.sql(`CREATE ROLE ${role} LOGIN`);
    if (domain !== undefined) {
      await onSchema(
        schema,
        (pool) => addEnqueueRole(pool, { schema, role, domain }),
      );
    }
    return role;
  };
  const first = await instance(wrap?.(subject.store) ?? subject.store, {});
  const { api, worker } = first;
  await api.addWorker({ name: "mailer" });
  const role = await addRole("acme");
  const session = await TEST_SERVER.session({ user: role });
  return {
    ...first,
    subject,
    session,
    role,
    addRole,
    async enqueue(data, options = {}, key = null) {
      const [row] = await session.query<{ id: number }>(
        `SELECT ${schema}.enqueue('mailer', $1::jsonb, $2::jsonb, $3::text) ` +
          "AS id",
        [JSON.stringify(data), JSON.stringify(options), key],
      );
      return row!.id;
    },
    async drain() {
      while ((await worker.runOnce()).taken > 0);
    },
    async data() {
      const { tasks } = await subject.store.listTasks({
        tenantId: api.tenant.id,
        by: "created_at",
        sort: "created_at",
        order: "asc",
        limit: 1_000,
      });
      return tasks.map(({ dataJson }) => JSON.parse(dataJson));
    },
    another: async (around = (store) => store) =>
      await instance(around(await subject.another()), {
        besides: api,
        seed: apis.length + 1,
      }),
    async close() {
      await session.close();
      for (const one of apis.reverse()) await one.close();
      await subject.close();
      for (const one of roles) await TEST_SERVER.sql(`DROP ROLE ${one}`);
    },
  };
}

/** Takes the mapping of a role away. */
export async function unmapRole(schema: string, role: string): Promise<void> {
  await onSchema(schema, (pool) => removeEnqueueRole(pool, { schema, role }));
}

function onSchema<Answer>(
  schema: string,
  use: Parameters<typeof withSchema<Answer>>[1],
): Promise<Answer> {
  return withSchema({
    connection: TEST_SERVER.connection(),
    schema,
    clock: systemClock,
    logger: SILENT,
  }, use);
}

/** The inbox of a store that has one. */
export function inboxOf({ inbox }: Store): Inbox {
  if (inbox !== undefined) return inbox;
  throw new TypeError("Cannot take requests: the store has no inbox");
}
