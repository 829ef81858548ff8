/**
 * The pages of the console: where each is, and what loads it. They are loaded
 * with the first request for one, so that a start of the service does not wait
 * for them.
 *
 * @module
 */

import type { Scope } from "../access/scope.ts";
import type { Page } from "./parts/page.ts";

/** The path below which all pages are. */
export const CONSOLE_PATH = "/console";

/** A page of the console and where it is. */
export interface ConsolePlace {
  /** The method; `POST` takes what forms send. */
  readonly method: "GET" | "POST";
  /** The path below that of the console. */
  readonly path: string;
  /** Loads the page. */
  readonly load: () => Promise<Page>;
}

/** A page that the navigation leads to. */
export interface ConsoleLink {
  /** The path below that of the console. */
  readonly path: string;
  /** Its name. */
  readonly text: string;
  /** The scope without which the API refuses what the page shows. */
  readonly scope: Scope;
}

/** The pages that the navigation leads to, in its order. */
export const CONSOLE_LINKS: readonly ConsoleLink[] = [
  { path: "", text: "Overview", scope: "tasks:read" },
  { path: "/tasks", text: "Tasks", scope: "tasks:read" },
  { path: "/schedules", text: "Schedules", scope: "tasks:read" },
  { path: "/workers", text: "Workers", scope: "workers:read" },
  { path: "/webhooks", text: "Webhooks", scope: "webhooks:read" },
  { path: "/alerts", text: "Alerts", scope: "webhooks:read" },
  { path: "/users", text: "Users", scope: "users:read" },
  { path: "/keys", text: "Keys", scope: "keys:read" },
  { path: "/usage", text: "Usage", scope: "account:read" },
  { path: "/audit", text: "Audit log", scope: "audit:read" },
];

/** What stands where there is no page. */
const noPage: Page = () =>
  Promise.resolve({
    kind: "refused",
    answer: {
      status: 404,
      headers: {},
      body: {
        code: "not_found",
        title: "There is no such page",
        detail: "The address is mistyped, or of another version.",
      },
    },
  });

/** All pages for people who have signed in. */
export const CONSOLE_PAGES: readonly ConsolePlace[] = [
  {
    method: "GET",
    path: "",
    load: async () =>
      (await import("./overview/overview_page.tsx")).overviewPage,
  },
  {
    method: "GET",
    path: "/tasks",
    load: async () => (await import("./tasks/task_list_page.tsx")).taskListPage,
  },
  {
    method: "GET",
    path: "/tasks/bulk",
    load: async () => (await import("./tasks/bulk_page.tsx")).bulkPreviewPage,
  },
  {
    method: "POST",
    path: "/tasks/bulk",
    load: async () => (await import("./tasks/bulk_page.tsx")).applyBulk,
  },
  {
    method: "GET",
    path: "/operations/:id",
    load: async () => (await import("./tasks/bulk_page.tsx")).operationPage,
  },
  {
    method: "GET",
    path: "/tasks/:id",
    load: async () => (await import("./tasks/task_page.tsx")).taskPage,
  },
  {
    method: "POST",
    path: "/tasks/:id",
    load: async () => (await import("./tasks/task_actions.tsx")).actOnTask,
  },
  {
    method: "GET",
    path: "/tasks/new",
    load: async () => (await import("./tasks/task_form_page.tsx")).newTaskPage,
  },
  {
    method: "POST",
    path: "/tasks/new",
    load: async () => (await import("./tasks/task_form_page.tsx")).createTask,
  },
  {
    method: "GET",
    path: "/tasks/:id/edit",
    load: async () => (await import("./tasks/task_form_page.tsx")).editTaskPage,
  },
  {
    method: "POST",
    path: "/tasks/:id/edit",
    load: async () => (await import("./tasks/task_form_page.tsx")).changeTask,
  },
  {
    method: "GET",
    path: "/schedules",
    load: async () =>
      (await import("./schedules/schedule_list_page.tsx")).scheduleListPage,
  },
  {
    method: "GET",
    path: "/schedules/:id",
    load: async () =>
      (await import("./schedules/schedule_page.tsx")).schedulePage,
  },
  {
    method: "POST",
    path: "/schedules/:id",
    load: async () =>
      (await import("./schedules/schedule_page.tsx")).actOnSchedule,
  },
  {
    method: "GET",
    path: "/workers",
    load: async () =>
      (await import("./workers/worker_list_page.tsx")).workerListPage,
  },
  {
    method: "GET",
    path: "/workers/new",
    load: async () =>
      (await import("./workers/worker_form_page.tsx")).newWorkerPage,
  },
  {
    method: "POST",
    path: "/workers/new",
    load: async () =>
      (await import("./workers/worker_form_page.tsx")).createWorker,
  },
  {
    method: "GET",
    path: "/workers/:id",
    load: async () => (await import("./workers/worker_page.tsx")).workerPage,
  },
  {
    method: "POST",
    path: "/workers/:id",
    load: async () => (await import("./workers/worker_page.tsx")).actOnWorker,
  },
  {
    method: "GET",
    path: "/workers/:id/edit",
    load: async () =>
      (await import("./workers/worker_form_page.tsx")).editWorkerPage,
  },
  {
    method: "POST",
    path: "/workers/:id/edit",
    load: async () =>
      (await import("./workers/worker_form_page.tsx")).changeWorker,
  },
  {
    method: "POST",
    path: "/workers/:id/secrets",
    load: async () =>
      (await import("./workers/worker_secrets.tsx")).changeSecrets,
  },
  {
    method: "GET",
    path: "/workers/:id/test",
    load: async () =>
      (await import("./workers/worker_test_page.tsx")).workerTestPage,
  },
  {
    method: "POST",
    path: "/workers/:id/test",
    load: async () =>
      (await import("./workers/worker_test_page.tsx")).testWorker,
  },
  {
    method: "GET",
    path: "/webhooks",
    load: async () =>
      (await import("./webhooks/webhook_list_page.tsx")).webhookListPage,
  },
  {
    method: "GET",
    path: "/webhooks/new",
    load: async () =>
      (await import("./webhooks/webhook_form_page.tsx")).newWebhookPage,
  },
  {
    method: "POST",
    path: "/webhooks/new",
    load: async () =>
      (await import("./webhooks/webhook_form_page.tsx")).createWebhook,
  },
  {
    method: "GET",
    path: "/webhooks/:id",
    load: async () => (await import("./webhooks/webhook_page.tsx")).webhookPage,
  },
  {
    method: "POST",
    path: "/webhooks/:id",
    load: async () =>
      (await import("./webhooks/webhook_page.tsx")).actOnWebhook,
  },
  {
    method: "GET",
    path: "/webhooks/:id/edit",
    load: async () =>
      (await import("./webhooks/webhook_form_page.tsx")).editWebhookPage,
  },
  {
    method: "POST",
    path: "/webhooks/:id/edit",
    load: async () =>
      (await import("./webhooks/webhook_form_page.tsx")).changeWebhook,
  },
  {
    method: "GET",
    path: "/deliveries",
    load: async () =>
      (await import("./webhooks/delivery_pages.tsx")).deliveryListPage,
  },
  {
    method: "GET",
    path: "/deliveries/:id",
    load: async () =>
      (await import("./webhooks/delivery_pages.tsx")).deliveryPage,
  },
  {
    method: "POST",
    path: "/deliveries/:id",
    load: async () => (await import("./webhooks/delivery_pages.tsx")).redeliver,
  },
  {
    method: "GET",
    path: "/alerts",
    load: async () => (await import("./alerts/alert_pages.tsx")).alertListPage,
  },
  {
    method: "GET",
    path: "/alerts/new",
    load: async () =>
      (await import("./alerts/alert_form_page.tsx")).newAlertPage,
  },
  {
    method: "POST",
    path: "/alerts/new",
    load: async () =>
      (await import("./alerts/alert_form_page.tsx")).createAlert,
  },
  {
    method: "GET",
    path: "/alerts/:id",
    load: async () => (await import("./alerts/alert_pages.tsx")).alertPage,
  },
  {
    method: "POST",
    path: "/alerts/:id",
    load: async () => (await import("./alerts/alert_pages.tsx")).actOnAlert,
  },
  {
    method: "GET",
    path: "/alerts/:id/edit",
    load: async () =>
      (await import("./alerts/alert_form_page.tsx")).editAlertPage,
  },
  {
    method: "POST",
    path: "/alerts/:id/edit",
    load: async () =>
      (await import("./alerts/alert_form_page.tsx")).changeAlert,
  },
  {
    method: "GET",
    path: "/users",
    load: async () => (await import("./settings/user_pages.tsx")).userListPage,
  },
  {
    method: "POST",
    path: "/users",
    load: async () => (await import("./settings/user_pages.tsx")).addUser,
  },
  {
    method: "GET",
    path: "/users/:id",
    load: async () => (await import("./settings/user_pages.tsx")).userPage,
  },
  {
    method: "POST",
    path: "/users/:id",
    load: async () => (await import("./settings/user_pages.tsx")).changeUser,
  },
  {
    method: "GET",
    path: "/keys",
    load: async () => (await import("./settings/key_page.tsx")).keyListPage,
  },
  {
    method: "POST",
    path: "/keys",
    load: async () => (await import("./settings/key_page.tsx")).makeKey,
  },
  {
    method: "POST",
    path: "/keys/:id",
    load: async () => (await import("./settings/key_page.tsx")).actOnKey,
  },
  {
    method: "GET",
    path: "/usage",
    load: async () => (await import("./settings/usage_page.tsx")).usagePage,
  },
  {
    method: "POST",
    path: "/usage",
    load: async () => (await import("./settings/usage_page.tsx")).changeTenant,
  },
  {
    method: "GET",
    path: "/audit",
    load: async () => (await import("./settings/audit_page.tsx")).auditPage,
  },
  { method: "GET", path: "/:page", load: () => Promise.resolve(noPage) },
  { method: "GET", path: "/:page/:id", load: () => Promise.resolve(noPage) },
];

/** The pages that the operator's navigation leads to. */
export const OPERATOR_LINKS: readonly Omit<ConsoleLink, "scope">[] = [
  { path: "", text: "Overview" },
  { path: "/tenants", text: "Tenants" },
  { path: "/plans", text: "Plans" },
];

/** All pages for the operator. */
export const OPERATOR_PAGES: readonly ConsolePlace[] = [
  {
    method: "GET",
    path: "",
    load: async () =>
      (await import("./operator/operator_page.tsx")).operatorPage,
  },
  {
    method: "GET",
    path: "/plans",
    load: async () =>
      (await import("./operator/operator_page.tsx")).planListPage,
  },
  {
    method: "GET",
    path: "/tenants",
    load: async () =>
      (await import("./operator/tenant_pages.tsx")).tenantListPage,
  },
  {
    method: "POST",
    path: "/tenants",
    load: async () =>
      (await import("./operator/tenant_pages.tsx")).createTenant,
  },
  {
    method: "GET",
    path: "/tenants/:domain",
    load: async () => (await import("./operator/tenant_pages.tsx")).tenantPage,
  },
  {
    method: "POST",
    path: "/tenants/:domain",
    load: async () =>
      (await import("./operator/tenant_pages.tsx")).changeTenant,
  },
  { method: "GET", path: "/:page", load: () => Promise.resolve(noPage) },
  { method: "GET", path: "/:page/:id", load: () => Promise.resolve(noPage) },
];
