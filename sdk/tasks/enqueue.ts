/**
 * Enqueues tasks within a transaction of the program's own, on the PostgreSQL
 * database that the tasks service uses.
 *
 * @module
 */

import type { AnyJobs, JobName, JobTypes, NewTaskOf } from "./job_types.ts";
import { checkTimes } from "./times.ts";

/**
 * Runs a statement with the values of `$1` and the next ones, in the transaction
 * that is open.
 *
 * @returns The rows, or an object that has them as `rows`.
 */
export type EnqueueQuery = (
  text: string,
  values: (string | null)[],
) => PromiseLike<unknown>;

/** A task to be enqueued, of one of these jobs. */
export type EnqueuedTask<Jobs, Job extends keyof Jobs> = Omit<
  NewTaskOf<Jobs, Job>,
  "ref"
>;

/** Options of {@linkcode enqueue}. */
export interface EnqueueOptions {
  /**
   * The schema of the service's tables: `DATABASE_SCHEMA` of the service.
   *
   * @default {"tercet"}
   */
  readonly schema?: string | undefined;
}

/**
 * Enqueues a task in the transaction that `query` runs statements in. The task
 * is there some milliseconds after the commit; after a rollback it never was.
 * The operator has to let the database's role do so, for one tenant: `tasks
 * enqueue-role`.
 *
 * The database checks the shape of the task. The service checks the rest after
 * the commit; what it refuses is listed at `/v1/refused-requests`.
 *
 * ```ts
 * async function placeOrder(query: EnqueueQuery, order: number) {
 *   await query("INSERT INTO orders(id) VALUES ($1)", [String(order)]);
 *   await enqueue(query, { worker: "mailer", data: { order } });
 * }
 * ```
 *
 * @returns The number of the request.
 * @throws {TypeError} When a `Date` is invalid, or the schema's name is not one
 * of a-z, 0-9 and _.
 * @throws What `query` throws: the role may not enqueue, there is no such
 * worker, an option is unknown, or something is too long. The transaction has
 * failed then.
 */
export async function enqueue<
  Jobs extends JobTypes<Jobs> = AnyJobs,
  Job extends JobName<Jobs> = JobName<Jobs>,
>(
  query: EnqueueQuery,
  task: EnqueuedTask<Jobs, Job>,
  { schema = "tercet" }: EnqueueOptions = {},
): Promise<number> {
  if (!/^[a-z_][a-z0-9_]*$/.test(schema)) {
    throw new TypeError(
      `Cannot enqueue: "${schema}" is no schema's name of a-z, 0-9 and _`,
    );
  }
  const { worker, data, key, ...options } = task as EnqueuedTask<
    AnyJobs,
    string
  >;
  checkTimes(options);
  // As text, which no client encodes once more.
  const answer = await query(
    `SELECT "${schema}".enqueue($1::text, $2::text::jsonb, ` +
      "$3::text::jsonb, $4::text)::text AS request",
    [
      worker,
      data === undefined ? null : JSON.stringify(data),
      JSON.stringify(options),
      key ?? null,
    ],
  );
  const request = Number(firstRow(answer)?.request);
  if (Number.isSafeInteger(request)) return request;
  throw new TypeError(
    "Cannot enqueue: the query gave neither rows nor an object with `rows`",
  );
}

function firstRow(answer: unknown): { readonly request?: unknown } | undefined {
  const rows = Array.isArray(answer)
    ? answer
    : (answer as { readonly rows?: readonly unknown[] } | undefined)?.rows;
  return rows?.[0] as { readonly request?: unknown } | undefined;
}
