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
import { Resource } from "./resource.ts";
import type {
  CallOptions,
  ChangeOptions,
  MakeOptions,
  ServiceCalls,
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
  readonly #alerts: Resource<Alert, AlertList>;

  /** Created by a {@linkcode TasksClient}. */
  constructor(calls: ServiceCalls) {
    this.#alerts = new Resource(calls, "alert");
  }

  /**
   * Creates an alert. Only this answer shows the `signing_secret` of one with
   * the template `standard`.
   *
   * @throws {TasksError} When the service refuses.
   */
  create(alert: NewAlert, options: MakeOptions = {}): Promise<Alert> {
    return this.#alerts.create(alert, options);
  }

  /** Lists all alerts. */
  list(
    options: CallOptions & {
      /** The number of alerts on a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<Alert, AlertList> {
    return this.#alerts.list(options);
  }

  /**
   * Returns one alert.
   *
   * @throws {TasksError} `not_found` and others.
   */
  get(id: string, options: CallOptions = {}): Promise<Alert> {
    return this.#alerts.get(id, options);
  }

  /**
   * Changes an alert, which is judged again.
   *
   * @throws {TasksError} When the service refuses.
   */
  update(
    id: string,
    changes: AlertChanges,
    options: ChangeOptions = {},
  ): Promise<Alert> {
    const call = { method: "PUT", body: changes } as const;
    return this.#alerts.change(id, call, options);
  }

  /**
   * Removes an alert.
   *
   * @throws {TasksError} When the service refuses.
   */
  remove(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#alerts.remove(id, options);
  }

  /**
   * Sends a test message of an alert, once.
   *
   * @throws {TasksError} When the service refuses.
   */
  test(id: string, options: MakeOptions = {}): Promise<WebhookTestResult> {
    return this.#alerts.act(id, { verb: "test" }, options);
  }
}
