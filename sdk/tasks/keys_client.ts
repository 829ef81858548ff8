/**
 * Client for a tenant's API keys.
 *
 * @module
 */

import type {
  ApiKey,
  ApiKeyList,
  Duration,
  MadeApiKey,
  NewApiKey,
} from "./api_types.ts";
import type { Time } from "./job_types.ts";
import type { PagedList } from "./pages.ts";
import { Resource } from "./resource.ts";
import type {
  CallOptions,
  MakeOptions,
  ServiceCalls,
} from "./service_calls.ts";
import { timeText } from "./times.ts";

/**
 * Manages a tenant's API keys; the member `keys` of a {@linkcode TasksClient}.
 *
 * @example Replace a key without an interruption
 * ```ts
 * import { TasksClient } from "@tercet/sdk/tasks";
 *
 * const { keys } = new TasksClient({
 *   url: "https://acme.tasks.example.com",
 *   key: "dk_your_key",
 *   // A service that answers at once, so that this example runs by itself.
 *   fetch: () => Promise.resolve(Response.json({ id: "dk_2", key: "dk_2_new" })),
 * });
 * const { key } = await keys.rotate("dk_1", { overlap: { hours: 1 } });
 * console.log(key); // dk_2_new
 * ```
 */
export class KeysClient {
  readonly #keys: Resource<ApiKey, ApiKeyList>;

  /** Created by a {@linkcode TasksClient}. */
  constructor(calls: ServiceCalls) {
    this.#keys = new Resource(calls, "key");
  }

  /**
   * Creates a key. Only this answer shows its secret.
   *
   * @throws {TasksError} When the service refuses.
   */
  create(
    key: Omit<NewApiKey, "expires_at"> & {
      /** When it stops working; never when null. */
      readonly expires_at?: Time | null | undefined;
    },
    options: MakeOptions = {},
  ): Promise<MadeApiKey> {
    if (key.expires_at) timeText(key.expires_at, "expires_at");
    return this.#keys.create(key, options);
  }

  /** Lists all keys, without their secrets. */
  list(
    options: CallOptions & {
      /** The number of keys on a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<ApiKey, ApiKeyList> {
    return this.#keys.list(options);
  }

  /**
   * Returns one key.
   *
   * @throws {TasksError} `not_found` and others.
   */
  get(id: string, options: CallOptions = {}): Promise<ApiKey> {
    return this.#keys.get(id, options);
  }

  /**
   * Removes a key, which stops working.
   *
   * @throws {TasksError} When the service refuses.
   */
  remove(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#keys.remove(id, { signal });
  }

  /**
   * Creates a key that replaces another, which keeps working for `overlap`.
   *
   * @throws {TasksError} When the service refuses.
   */
  rotate(
    id: string,
    options: MakeOptions & {
      /**
       * How long the old key keeps working; when absent, it stops working at
       * once.
       */
      readonly overlap?: Duration | undefined;
    } = {},
  ): Promise<MadeApiKey> {
    const { overlap } = options;
    const body = overlap === undefined ? {} : { overlap };
    return this.#keys.act(id, { verb: "rotate", body }, options);
  }
}
