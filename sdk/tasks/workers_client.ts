/**
 * Workers of a tenant, and their secrets.
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
import { PagedList } from "./pages.ts";
import type {
  CallOptions,
  ServiceCall,
  ServiceCalls,
} from "./service_calls.ts";
import type { ChangeOptions, MakeOptions } from "./tasks_client.ts";

/** A credential of a worker, as it is shown once. */
export type WorkerCredential = Extract<
  AddedSecrets,
  { readonly type: "credential" }
>;

/**
 * Looks after workers; `workers` of a {@linkcode TasksClient}.
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
 * const worker = await workers.create({ name: "mailer" });
 * const { secret } = await workers.createCredential(worker.id);
 * console.log(secret); // wk_secret
 * ```
 */
export class WorkersClient {
  readonly #calls: ServiceCalls;

  /** To be had from a client. */
  constructor(calls: ServiceCalls) {
    this.#calls = calls;
  }

  /**
   * Makes a worker: one that is called where it has a `url`, else one that asks.
   *
   * @throws {TasksError} `name_taken`, `invalid` and others.
   */
  async create(
    worker: NewWorker,
    options: MakeOptions = {},
  ): Promise<TaskWorker> {
    const { body } = await this.#calls.make<TaskWorker>({
      action: "create the worker",
      path: ["workers"],
      body: worker,
      signal: options.signal,
    }, options.idempotencyKey);
    return body;
  }

  /** All workers. */
  list(
    { signal, limit }: CallOptions & {
      /** Workers of a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<TaskWorker, WorkerPage> {
    return new PagedList((cursor) =>
      this.#read("list workers", {
        path: ["workers"],
        query: { limit, cursor },
        signal,
      })
    );
  }

  /**
   * One worker, by name or id.
   *
   * @throws {TasksError} `not_found` and others.
   */
  get(worker: string, { signal }: CallOptions = {}): Promise<TaskWorker> {
    return this.#read("show the worker", { path: ["workers", worker], signal });
  }

  /**
   * Changes what `changes` names and nothing else; null resets a value.
   *
   * @throws {TasksError} When it is refused.
   */
  async patch(
    worker: string,
    changes: WorkerChanges,
    { ifVersion, signal }: ChangeOptions = {},
  ): Promise<TaskWorker> {
    const { body } = await this.#calls.call<TaskWorker>({
      action: "change the worker",
      method: "PATCH",
      path: ["workers", worker],
      body: changes,
      headers: ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` },
      signal,
    });
    return body;
  }

  /**
   * Removes a worker.
   *
   * @throws {TasksError} `worker_in_use` while it has live tasks, unless these are to
   * be canceled.
   */
  async remove(
    worker: string,
    { cancelsTasks = false, signal }: CallOptions & {
      /**
       * Whether its live tasks are canceled.
       *
       * @default {false}
       */
      readonly cancelsTasks?: boolean | undefined;
    } = {},
  ): Promise<void> {
    await this.#calls.call({
      action: "remove the worker",
      method: "DELETE",
      path: ["workers", worker],
      query: cancelsTasks ? { cancel: true } : {},
      signal,
    });
  }

  /**
   * Starts none of its tasks until it is resumed.
   *
   * @throws {TasksError} When it is refused.
   */
  pause(worker: string, options: MakeOptions = {}): Promise<TaskWorker> {
    return this.#make("pause the worker", {
      path: ["workers", worker, "pause"],
      body: {},
    }, options);
  }

  /**
   * Lets a worker that is paused go on.
   *
   * @throws {TasksError} When it is refused.
   */
  resume(worker: string, options: MakeOptions = {}): Promise<TaskWorker> {
    return this.#make("resume the worker", {
      path: ["workers", worker, "resume"],
      body: {},
    }, options);
  }

  /**
   * Calls a push worker as a task would, and tells what it answered.
   *
   * @throws {TasksError} When it is refused.
   */
  test(
    worker: string,
    test: WorkerTest = {},
    options: MakeOptions = {},
  ): Promise<WorkerTestResult> {
    return this.#make("try the worker", {
      path: ["workers", worker, "test"],
      body: test,
      extraMs: 60_000,
    }, options);
  }

  /**
   * Makes a credential, with which a process of the worker takes tasks.
   *
   * @throws {TasksError} When it is refused.
   */
  async createCredential(
    worker: string,
    options: MakeOptions & {
      /** What it is called. */
      readonly name?: string | undefined;
      /** When it ends, RFC 3339; never when absent. */
      readonly expiresAt?: string | undefined;
      /**
       * Whether leases that are taken with it may carry the worker's secrets.
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
      expires_at: expiresAt,
      secrets: hasSecrets,
    }, options) as WorkerCredential;
  }

  /** A worker's secrets, without their values. */
  async secrets(
    worker: string,
    { signal }: CallOptions = {},
  ): Promise<SecretList["data"]> {
    const { data } = await this.#read<SecretList>("list the secrets", {
      path: ["workers", worker, "secrets"],
      signal,
    });
    return data;
  }

  /**
   * Keeps named values, or makes a credential or a signing secret.
   *
   * @throws {TasksError} When it is refused.
   */
  addSecrets(
    worker: string,
    secrets: NewSecrets,
    options: MakeOptions = {},
  ): Promise<AddedSecrets> {
    return this.#make("keep the secrets", {
      path: ["workers", worker, "secrets"],
      body: secrets,
    }, options);
  }

  /**
   * Removes a named value, or a credential by its id.
   *
   * @throws {TasksError} When it is refused.
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

  async #read<Body>(
    action: string,
    call: Pick<ServiceCall, "path" | "query" | "signal">,
  ): Promise<Body> {
    return (await this.#calls.call<Body>({ ...call, action, method: "GET" }))
      .body;
  }

  async #make<Body>(
    action: string,
    call: Pick<ServiceCall, "path" | "body" | "extraMs">,
    { signal, idempotencyKey }: MakeOptions,
  ): Promise<Body> {
    const { body } = await this.#calls.make<Body>(
      { ...call, action, signal },
      idempotencyKey,
    );
    return body;
  }
}
