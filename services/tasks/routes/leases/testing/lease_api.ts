/**
 * The API with a pull worker, for tests of leases.
 *
 * @module
 */

import { mintWorkerCredential } from "../../../access/credential_token.ts";
import type {
  WorkerCredential,
  WorkerDefinition,
} from "../../../domain/records.ts";
import {
  openTestApi,
  type TestApi,
  type TestApiOptions,
} from "../../testing/test_api.ts";
import type { TestAnswer, TestCall } from "../../testing/test_caller.ts";
import { workerRoutes } from "../../workers/worker_routes.ts";
import { leaseRoutes } from "../lease_routes.ts";

/** A lease as a test needs it. */
export interface TakenLease {
  /** The lease's id. */
  readonly id: string;
  /** The lease's token. */
  readonly token: string;
  /** The id of its task. */
  readonly taskId: string;
}

/** The API with a worker called "mailer". */
export interface LeaseApi extends TestApi {
  /** The worker. */
  readonly mailer: WorkerDefinition;
  /** The bearer token of its credential. */
  readonly credential: string;
  /** Adds a credential and returns its bearer token. */
  addCredential(
    worker: WorkerDefinition,
    patch?: Partial<WorkerCredential>,
  ): Promise<string>;
  /** Calls the lease route of "mailer" with its credential. */
  lease(body?: unknown, call?: TestCall): Promise<TestAnswer>;
  /**
   * Leases one task of "mailer".
   *
   * @throws {Error} when there is no task to lease
   */
  take(): Promise<TakenLease>;
  /** Sends a report about a lease. */
  say(lease: TakenLease, action: string, body?: unknown): Promise<TestAnswer>;
}

/** Opens the API with workers and leases. */
export async function openLeaseApi(
  options: Omit<TestApiOptions, "routes"> = {},
): Promise<LeaseApi> {
  const api = await openTestApi({
    ...options,
    routes: (parts) => [...workerRoutes(parts), ...leaseRoutes(parts)],
  });
  const { repositories } = api.engine.parts;
  const addCredential = async (
    { tenantId, id: workerId }: WorkerDefinition,
    patch: Partial<WorkerCredential> = {},
  ): Promise<string> => {
    const { id, secret, digest } = mintWorkerCredential("acme");
    await api.write(repositories.credentials.insert({
      tenantId,
      id,
      version: 1,
      workerId,
      name: "",
      digest,
      secrets: true,
      createdAtMs: api.clock.nowMs(),
      ...patch,
    }));
    return secret;
  };
  const mailer = await api.addWorker();
  const credential = await addCredential(mailer);
  const lease = (body?: unknown, call: TestCall = {}): Promise<TestAnswer> =>
    api.call("POST", "/v1/workers/mailer/lease", {
      key: credential,
      ...(body === undefined ? {} : { body }),
      ...call,
    });
  return {
    ...api,
    mailer,
    credential,
    addCredential,
    lease,
    async take() {
      const answer = await lease();
      return {
        id: answer.textAt("leases", 0, "id"),
        token: answer.textAt("leases", 0, "token"),
        taskId: answer.textAt("leases", 0, "task", "id"),
      };
    },
    say: ({ id, token }, action, body) =>
      api.call("POST", `/v1/leases/${id}/${action}`, {
        key: token,
        ...(body === undefined ? {} : { body }),
      }),
  };
}
