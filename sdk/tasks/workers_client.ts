/**
 * Client for a tenant's workers and their secrets.
 *
 * @module
 */

import type {
  AddedSecrets,
  NewSecrets,
  NewWorker,
  SecretList,
  TaskWorker,
  WorkerChanges,
  WorkerPage,
  WorkerTest,
  WorkerTestResult,
} from "./api_types.ts";
import type { Time } from "./job_types.ts";
import type { PagedList } from "./pages.ts";
import { Resource } from "./resource.ts";
import type {
  CallOptions,
  ChangeOptions,
  MakeOptions,
  ServiceCalls,
} from "./service_calls.ts";
import { TasksError, type TasksErrorCode } from "./tasks_error.ts";
import { timeText } from "./times.ts";

/** A credential of a worker with its secret, which is shown once. */
export type WorkerCredential = Extract<
  AddedSecrets,
  { readonly type: "credential" }
>;

/** Where a program keeps the secret of a credential. */
export interface SecretPlace {
  /** Returns what was saved; undefined or empty when nothing was. */
  readonly load: () => string | undefined | Promise<string | undefined>;
  /** Keeps the secret, where others cannot read it. */
  readonly save: (secret: string) => void | Promise<void>;
}

/**
 * Manages a tenant's workers; the member `workers` of a
 * {@linkcode TasksClient}.
 *
 * @example Make a worker and a credential for its process
 * ```ts
 * import { TasksClient } from "@tercet/sdk/tasks";
 *
 * const { workers } = new TasksClient({
 *   url: "https://acme.tasks.example.com",
 *   key: "dk_your_key",
 *   // A service that answers at once, so that this example runs by itself.
 *   fetch: () =>
 *     Promise.resolve(Response.json({ id: "wrk_1", type: "credential", secret: "wk_secret" })),
 * });
 * const worker = await workers.ensure({ name: "mailer" });
 * const { secret } = await workers.createCredential(worker.id);
 * console.log(secret); // wk_secret
 * ```
 */
export class WorkersClient {
  readonly #calls: ServiceCalls;
  readonly #workers: Resource<TaskWorker, WorkerPage>;

  /** Created by a {@linkcode TasksClient}. */
  constructor(calls: ServiceCalls) {
    this.#calls = calls;
    this.#workers = new Resource(calls, "worker");
  }

  /**
   * Creates a worker: a push worker, which the service calls, when it has a
   * `url`, else a pull worker, which requests tasks.
   *
   * @throws {TasksError} `name_taken`, `invalid` and others.
   */
  create(
    worker: NewWorker,
    options: MakeOptions = {},
  ): Promise<TaskWorker> {
    return this.#workers.create(worker, options);
  }

  /**
   * Creates a worker unless there is one of its name; gives that one the values
   * that `worker` names. A program may call this whenever it starts.
   *
   * @throws {TasksError} When the service refuses.
   */
  async ensure(
    worker: NewWorker,
    options: CallOptions = {},
  ): Promise<TaskWorker> {
    const { name, ...values } = worker;
    const known = async (): Promise<TaskWorker> =>
      Object.values(values).every((value) => value === undefined)
        ? await this.get(name, options)
        : await this.#workers.change(name, {
          ...{ method: "PUT", body: values },
        }, options);
    try {
      return await known();
    } catch (error) {
      if (!hasCode(error, "not_found")) throw error;
    }
    try {
      return await this.create(worker, options);
    } catch (error) {
      // Another process has created it meanwhile.
      if (!hasCode(error, "name_taken")) throw error;
      return await known();
    }
  }

  /** Lists all workers. */
  list(
    options: CallOptions & {
      /** The number of workers on a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<TaskWorker, WorkerPage> {
    return this.#workers.list(options);
  }

  /**
   * Returns one worker, by name or id.
   *
   * @throws {TasksError} `not_found` and others.
   */
  get(worker: string, options: CallOptions = {}): Promise<TaskWorker> {
    return this.#workers.get(worker, options);
  }

  /**
   * Changes only the values that `changes` names; null resets a value.
   *
   * @throws {TasksError} When the service refuses.
   */
  patch(
    worker: string,
    changes: WorkerChanges,
    options: ChangeOptions = {},
  ): Promise<TaskWorker> {
    const call = { method: "PATCH", body: changes } as const;
    return this.#workers.change(worker, call, options);
  }

  /**
   * Removes a worker.
   *
   * @throws {TasksError} `worker_in_use` when it has tasks that have not ended,
   * unless `cancelsTasks` is true.
   */
  remove(
    worker: string,
    { cancelsTasks = false, signal }: CallOptions & {
      /**
       * Whether its tasks that have not ended are canceled.
       *
       * @default {false}
       */
      readonly cancelsTasks?: boolean | undefined;
    } = {},
  ): Promise<void> {
    const query = cancelsTasks ? { cancel: true } : {};
    return this.#workers.remove(worker, { query, signal });
  }

  /**
   * Pauses a worker: none of its tasks is started until it is resumed.
   *
   * @throws {TasksError} When the service refuses.
   */
  pause(worker: string, options: MakeOptions = {}): Promise<TaskWorker> {
    return this.#workers.act(worker, { verb: "pause", body: {} }, options);
  }

  /**
   * Resumes a paused worker.
   *
   * @throws {TasksError} When the service refuses.
   */
  resume(worker: string, options: MakeOptions = {}): Promise<TaskWorker> {
    return this.#workers.act(worker, { verb: "resume", body: {} }, options);
  }

  /**
   * Sends a test call to a push worker, and returns what the worker answered.
   *
   * @throws {TasksError} When the service refuses.
   */
  test(
    worker: string,
    test: WorkerTest = {},
    options: MakeOptions = {},
  ): Promise<WorkerTestResult> {
    return this.#workers.act(worker, {
      ...{ verb: "test", action: "try the worker", body: test },
      extraMs: 60_000,
    }, options);
  }

  /**
   * Creates a credential, with which a process of the worker requests tasks.
   *
   * @throws {TasksError} When the service refuses.
   */
  async createCredential(
    worker: string,
    options: MakeOptions & {
      /** The name of the credential. */
      readonly name?: string | undefined;
      /** When the credential expires; never when absent. */
      readonly expiresAt?: Time | undefined;
      /**
       * Whether leases that are requested with the credential may include the
       * worker's secrets.
       *
       * @default {true}
       */
      readonly hasSecrets?: boolean | undefined;
    } = {},
  ): Promise<WorkerCredential> {
    const { name, expiresAt, hasSecrets } = options;
    return await this.addSecrets(worker, {
      type: "credential",
      name,
      expires_at: expiresAt && timeText(expiresAt, "expiresAt"),
      secrets: hasSecrets,
    }, options) as WorkerCredential;
  }

  /**
   * Returns the secret of a credential that is created once: the one that
   * `load` finds, else that of a new credential, which `save` has kept by then.
   *
   * @throws {TasksError} When the service refuses.
   * @throws {unknown} What `load` and `save` throw; a credential that could not
   * be saved is removed again.
   */
  async ensureCredential(
    worker: string,
    { load, save, ...options }:
      & Parameters<WorkersClient["createCredential"]>[1]
      & SecretPlace,
  ): Promise<string> {
    const found = (await load())?.trim();
    if (found) return found;
    const { id, secret } = await this.createCredential(worker, options);
    try {
      // A new credential always shows its secret, as its call has a new key.
      await save(secret ?? "");
    } catch (error) {
      await this.removeSecret(worker, id);
      throw error;
    }
    return secret ?? "";
  }

  /** Returns a worker's secrets, without their values. */
  async secrets(
    worker: string,
    { signal }: CallOptions = {},
  ): Promise<SecretList["data"]> {
    const { data } = await this.#calls.read<SecretList>("list the secrets", {
      path: ["workers", worker, "secrets"],
      signal,
    });
    return data;
  }

  /**
   * Stores named values, or creates a credential or a signing secret.
   *
   * @throws {TasksError} When the service refuses.
   */
  addSecrets(
    worker: string,
    secrets: NewSecrets,
    options: MakeOptions = {},
  ): Promise<AddedSecrets> {
    const act = { verb: "secrets", action: "keep the secrets", body: secrets };
    return this.#workers.act(worker, act, options);
  }

  /**
   * Removes a named value, or a credential by its id.
   *
   * @throws {TasksError} When the service refuses.
   */
  async removeSecret(
    worker: string,
    name: string,
    { signal }: CallOptions = {},
  ): Promise<void> {
    await this.#calls.call({
      action: "remove the secret",
      method: "DELETE",
      path: ["workers", worker, "secrets", name],
      signal,
    });
  }
}

function hasCode(error: unknown, code: TasksErrorCode): boolean {
  return error instanceof TasksError && error.code === code;
}
