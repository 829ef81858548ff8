/**
 * The API with the routes of tasks and one worker, for tests.
 *
 * @module
 */

import { leaseHolder } from "../../../engine/leases.ts";
import type { WorkerDefinition } from "../../../domain/records.ts";
import {
  openTestApi,
  type TestApi,
  type TestApiOptions,
} from "../../testing/test_api.ts";
import type { TestAnswer, TestCall } from "../../testing/test_caller.ts";
import type { Operations } from "../../../engine/bulk/operations.ts";
import { openOperations } from "../bulk_routes.ts";
import { taskRoutes } from "../task_routes.ts";

/** The API of a test of these routes. */
export interface TasksApi extends TestApi {
  /** The worker "mailer". */
  readonly worker: WorkerDefinition;
  /** Runs bulk actions; not started. */
  readonly operations: Operations;
  /** Makes a task of the worker and returns its view. */
  create(body?: Readonly<Record<string, unknown>>): Promise<TestAnswer>;
  /** Calls a route with a body. */
  send(
    method: string,
    path: string,
    body: unknown,
    call?: TestCall,
  ): Promise<TestAnswer>;
  /** Lets a worker claim a due task and report its outcome. */
  work(outcome: "complete" | "fail"): Promise<string>;
  /** Lets a worker claim a due task and keep the lease. */
  take(): Promise<string>;
}

/** The pointer or parameter, and the code, of each fault in a problem. */
export function listFaults(
  answer: Pick<TestAnswer, "at">,
): readonly (readonly [string, string])[] {
  const errors = answer.at("errors");
  return Array.isArray(errors)
    ? errors.map(({ pointer, parameter, code }) => [pointer ?? parameter, code])
    : [];
}

/** Opens the API for a test. */
export async function openTasksApi(
  options: Omit<TestApiOptions, "routes"> = {},
): Promise<TasksApi> {
  let operations: Operations | undefined;
  const api = await openTestApi({
    ...options,
    routes: (parts) => {
      operations = openOperations(parts.engine);
      return taskRoutes(parts, { operations });
    },
  });
  if (operations === undefined) throw new Error("no routes were made");
  const running = operations;
  const worker = await api.addWorker();
  const { leases } = api.engine;

  const lease = async (): Promise<
    { readonly id: string; readonly leaseId: string; readonly token: string }
  > => {
    const [grant] = await leases.lease({
      tenantId: api.tenant.id,
      workerId: worker.id,
      max: 1,
      waitMs: 0,
    });
    if (grant === undefined) throw new Error("nothing is due");
    const { task, token } = grant;
    return { id: task.id, leaseId: task.attempt?.id ?? "", token };
  };

  return {
    ...api,
    worker,
    operations: running,
    create: (body = {}) =>
      api.call("POST", "/v1/tasks", { body: { worker: "mailer", ...body } }),
    send: (method, path, body, call = {}) =>
      api.call(method, path, { ...call, body }),
    async work(outcome) {
      const { id, leaseId, token } = await lease();
      const said = await leases.report({
        holder: leaseHolder({ tenantId: api.tenant.id, leaseId, token }),
        event: (proof) =>
          outcome === "complete"
            ? { kind: "complete", lease: proof, resultJson: '{"sent":1}' }
            : {
              kind: "fail",
              lease: proof,
              failure: { code: "boom" },
              message: "It broke",
            },
      });
      if (said.kind !== "ok") throw new Error(said.kind);
      return id;
    },
    async take() {
      return (await lease()).id;
    },
    async close() {
      await running.stop();
      await api.close();
    },
  };
}
