/**
 * Client for a tenant's alerts.
 *
 * @module
 */

import type {
  Alert,
  AlertChanges,
  AlertList,
  NewAlert,
  WebhookTestResult,
} from "./api_types.ts";
import type { PagedList } from "./pages.ts";
import {
  type CallOptions,
  type ChangeOptions,
  ifMatch,
  type MakeOptions,
  type ServiceCalls,
} from "./service_calls.ts";

/**
 * Manages a tenant's alerts, which tell when too much fails or nothing happens;
 * the member `alerts` of a {@linkcode TasksClient}.
 *
 * @example Tell a channel of Slack that tasks fail
 * ```ts
 * import { TasksClient } from "@tercet/sdk/tasks";
 *
 * const { alerts } = new TasksClient({
 *   url: "https://acme.tasks.example.com",
 *   key: "dk_your_key",
 *   // A service that answers at once, so that this example runs by itself.
 *   fetch: () => Promise.resolve(Response.json({ id: "alr_1" })),
 * });
 * const { id } = await alerts.create({
 *   when: { count: "failed", over: 10, within: "PT5M" },
 *   send: { url: "https://hooks.slack.com/services/T0/B0/x", template: "slack" },
 * });
 * console.log(id); // alr_1
 * ```
 */
export class AlertsClient {
  readonly #calls: ServiceCalls;

  /** Created by a {@linkcode TasksClient}. */
  constructor(calls: ServiceCalls) {
    this.#calls = calls;
  }

  /**
   * Creates an alert. Only this answer shows the `signing_secret` of one with
   * the template `standard`.
   *
   * @throws {TasksError} When the service refuses.
   */
  create(alert: NewAlert, options: MakeOptions = {}): Promise<Alert> {
    const call = { path: ["alerts"], body: alert };
    return this.#calls.make("create the alert", call, options);
  }

  /** Lists all alerts. */
  list(
    { signal, limit }: CallOptions & {
      /** The number of alerts on a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<Alert, AlertList> {
    return this.#calls.list("list alerts", {
      path: ["alerts"],
      query: { limit },
      signal,
    });
  }

  /**
   * Returns one alert.
   *
   * @throws {TasksError} `not_found` and others.
   */
  async get(id: string, { signal }: CallOptions = {}): Promise<Alert> {
    const path = ["alerts", id];
    return await this.#calls.read("show the alert", { path, signal });
  }

  /**
   * Changes an alert, which is judged again.
   *
   * @throws {TasksError} When the service refuses.
   */
  async update(
    id: string,
    changes: AlertChanges,
    options: ChangeOptions = {},
  ): Promise<Alert> {
    return await this.#calls.call({
      action: "change the alert",
      method: "PUT",
      path: ["alerts", id],
      body: changes,
      headers: ifMatch(options),
      signal: options.signal,
    });
  }

  /**
   * Removes an alert.
   *
   * @throws {TasksError} When the service refuses.
   */
  async remove(id: string, options: ChangeOptions = {}): Promise<void> {
    await this.#calls.call({
      action: "remove the alert",
      method: "DELETE",
      path: ["alerts", id],
      headers: ifMatch(options),
      signal: options.signal,
    });
  }

  /**
   * Sends a test message of an alert, once.
   *
   * @throws {TasksError} When the service refuses.
   */
  test(id: string, options: MakeOptions = {}): Promise<WebhookTestResult> {
    const call = { path: ["alerts", id, "test"], body: undefined };
    return this.#calls.make("test the alert", call, options);
  }
}
