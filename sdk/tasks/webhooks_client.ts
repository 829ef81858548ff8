/**
 * Client for a tenant's webhooks and their deliveries.
 *
 * @module
 */

import type {
  NewWebhook,
  Webhook,
  WebhookChanges,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookDeliveryList,
  WebhookList,
  WebhookTestResult,
} from "./api_types.ts";
import type { PagedList } from "./pages.ts";
import { Resource } from "./resource.ts";
import type {
  CallOptions,
  ChangeOptions,
  MakeOptions,
  ServiceCalls,
} from "./service_calls.ts";

/** Which deliveries are listed. */
export interface DeliveryFilter {
  /** Only those of the webhook with this id. */
  readonly webhook?: string | undefined;
  /** Only those with this status. */
  readonly status?: WebhookDelivery["status"] | undefined;
  /** Only events of this type. */
  readonly type?: string | undefined;
  /** Only events of the task with this id. */
  readonly task?: string | undefined;
  /** The number of deliveries on a page. */
  readonly limit?: number | undefined;
}

/**
 * Manages a tenant's webhooks; the member `webhooks` of a
 * {@linkcode TasksClient}. Receivers check what they get by
 * {@linkcode verifyEvent}.
 *
 * @example Have failures sent
 * ```ts
 * import { TasksClient } from "@tercet/sdk/tasks";
 *
 * const { webhooks } = new TasksClient({
 *   url: "https://acme.tasks.example.com",
 *   key: "dk_your_key",
 *   // A service that answers at once, so that this example runs by itself.
 *   fetch: () =>
 *     Promise.resolve(Response.json({ id: "whk_1", signing_secret: "whsec_new" })),
 * });
 * const { signing_secret } = await webhooks.create({
 *   url: "https://example.com/hooks/tasks",
 *   types: ["task.failed", "worker.*"],
 * });
 * console.log(signing_secret); // whsec_new
 * ```
 */
export class WebhooksClient {
  readonly #calls: ServiceCalls;
  readonly #webhooks: Resource<Webhook, WebhookList>;

  /** Created by a {@linkcode TasksClient}. */
  constructor(calls: ServiceCalls) {
    this.#calls = calls;
    this.#webhooks = new Resource(calls, "webhook");
  }

  /**
   * Creates a webhook, which is sent what happens from now on. Only this answer
   * shows its `signing_secret`.
   *
   * @throws {TasksError} When the service refuses.
   */
  create(webhook: NewWebhook, options: MakeOptions = {}): Promise<Webhook> {
    return this.#webhooks.create(webhook, options);
  }

  /** Lists all webhooks. */
  list(
    options: CallOptions & {
      /** The number of webhooks on a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<Webhook, WebhookList> {
    return this.#webhooks.list(options);
  }

  /**
   * Returns one webhook.
   *
   * @throws {TasksError} `not_found` and others.
   */
  get(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#webhooks.get(id, options);
  }

  /**
   * Changes a webhook. One that is enabled again is sent what happens from then
   * on.
   *
   * @throws {TasksError} When the service refuses.
   */
  update(
    id: string,
    changes: WebhookChanges,
    options: ChangeOptions = {},
  ): Promise<Webhook> {
    const call = { method: "PATCH", body: changes } as const;
    return this.#webhooks.change(id, call, options);
  }

  /**
   * Removes a webhook.
   *
   * @throws {TasksError} When the service refuses.
   */
  remove(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#webhooks.remove(id, options);
  }

  /**
   * Replaces the signing secret, which signs beside the new one for a day. Only
   * this answer shows the new one.
   *
   * @throws {TasksError} When the service refuses.
   */
  rotate(id: string, options: MakeOptions = {}): Promise<Webhook> {
    const act = { verb: "rotate", action: "rotate the webhook's secret" };
    return this.#webhooks.act(id, act, options);
  }

  /**
   * Sends a webhook an event of the type `webhook.test`, once.
   *
   * @throws {TasksError} When the service refuses.
   */
  test(id: string, options: MakeOptions = {}): Promise<WebhookTestResult> {
    return this.#webhooks.act(id, { verb: "test" }, options);
  }

  /** Lists deliveries, the newest first. */
  deliveries(
    { signal, ...query }: CallOptions & DeliveryFilter = {},
  ): PagedList<WebhookDelivery, WebhookDeliveryList> {
    return this.#calls.list("list deliveries", {
      path: ["deliveries"],
      query: { ...query },
      signal,
    });
  }

  /**
   * Returns one delivery, with what was sent and came back.
   *
   * @throws {TasksError} `not_found` and others.
   */
  async delivery(
    id: string,
    { signal }: CallOptions = {},
  ): Promise<WebhookDeliveryDetail> {
    const path = ["deliveries", id];
    return await this.#calls.read("show the delivery", { path, signal });
  }

  /**
   * Sends the event of a delivery again, with the same id.
   *
   * @throws {TasksError} `wrong_state` while the delivery has its turn to come,
   * and others.
   */
  async redeliver(
    id: string,
    { signal }: CallOptions = {},
  ): Promise<WebhookDelivery> {
    return await this.#calls.call({
      action: "deliver again",
      method: "POST",
      path: ["deliveries", id, "redeliver"],
      signal,
    });
  }
}
