/**
 * The pages of the console: where each is, and what loads it. They are loaded
 * with the first request for one, so that a start of the service does not wait
 * for them.
 *
 * @module
 */

import type { Scope } from "../access/scope.ts";
import type { Page, PageAnswer } from "./parts/page.ts";

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

/**
 * Pages of a module, by their methods and paths.
 *
 * @param load Loads the module.
 */
function pagesOf<Module>(
  load: () => Promise<Module>,
  pages: Readonly<
    Record<`${ConsolePlace["method"]} /${string}`, (module: Module) => Page>
  >,
): readonly ConsolePlace[] {
  return Object.entries(pages).map(([place, find]) => ({
    method: place.startsWith("GET ") ? "GET" : "POST",
    path: place.slice(place.indexOf("/")).replace(/^\/$/, ""),
    load: async () => find(await load()),
  }));
}

/** What stands where there is no page. */
const NO_PAGES = pagesOf(() => Promise.resolve(noPage), {
  "GET /:page": (page) => page,
  "GET /:page/:id": (page) => page,
});

function noPage(): Promise<PageAnswer> {
  const body = {
    code: "not_found",
    title: "There is no such page",
    detail: "The address is mistyped, or of another version.",
  };
  const answer = { status: 404, headers: {}, body };
  return Promise.resolve({ kind: "refused", answer });
}

/** All pages for people who have signed in. */
export const CONSOLE_PAGES: readonly ConsolePlace[] = [
  ...pagesOf(() => import("./overview/overview_page.tsx"), {
    "GET /": (module) => module.overviewPage,
  }),
  ...pagesOf(() => import("./tasks/task_list_page.tsx"), {
    "GET /tasks": (module) => module.taskListPage,
  }),
  ...pagesOf(() => import("./tasks/bulk_page.tsx"), {
    "GET /tasks/bulk": (module) => module.bulkPreviewPage,
    "POST /tasks/bulk": (module) => module.applyBulk,
    "GET /operations/:id": (module) => module.operationPage,
  }),
  ...pagesOf(() => import("./tasks/task_page.tsx"), {
    "GET /tasks/:id": (module) => module.taskPage,
  }),
  ...pagesOf(() => import("./tasks/task_actions.tsx"), {
    "POST /tasks/:id": (module) => module.actOnTask,
  }),
  ...pagesOf(() => import("./tasks/task_form_page.tsx"), {
    "GET /tasks/new": (module) => module.newTaskPage,
    "POST /tasks/new": (module) => module.createTask,
    "GET /tasks/:id/edit": (module) => module.editTaskPage,
    "POST /tasks/:id/edit": (module) => module.changeTask,
  }),
  ...pagesOf(() => import("./schedules/schedule_list_page.tsx"), {
    "GET /schedules": (module) => module.scheduleListPage,
  }),
  ...pagesOf(() => import("./schedules/schedule_page.tsx"), {
    "GET /schedules/:id": (module) => module.schedulePage,
    "POST /schedules/:id": (module) => module.actOnSchedule,
  }),
  ...pagesOf(() => import("./workers/worker_form.tsx"), {
    "GET /workers/new": ({ WORKER_FORM }) => WORKER_FORM.showNew,
    "POST /workers/new": ({ WORKER_FORM }) => WORKER_FORM.create,
    "GET /workers/:id/edit": ({ WORKER_FORM }) => WORKER_FORM.edit,
    "POST /workers/:id/edit": ({ WORKER_FORM }) => WORKER_FORM.change,
  }),
  ...pagesOf(() => import("./workers/worker_pages.tsx"), {
    "GET /workers": (module) => module.workerListPage,
    "GET /workers/:id": (module) => module.workerPage,
    "POST /workers/:id": (module) => module.actOnWorker,
  }),
  ...pagesOf(() => import("./workers/worker_secrets.tsx"), {
    "POST /workers/:id/secrets": (module) => module.changeSecrets,
  }),
  ...pagesOf(() => import("./workers/worker_test_page.tsx"), {
    "GET /workers/:id/test": (module) => module.workerTestPage,
    "POST /workers/:id/test": (module) => module.testWorker,
  }),
  ...pagesOf(() => import("./webhooks/webhook_pages.tsx"), {
    "GET /webhooks": (module) => module.webhookListPage,
    "GET /webhooks/:id": (module) => module.WEBHOOK_PAGE.show,
    "POST /webhooks/:id": (module) => module.actOnWebhook,
  }),
  ...pagesOf(() => import("./webhooks/webhook_form.tsx"), {
    "GET /webhooks/new": ({ WEBHOOK_FORM }) => WEBHOOK_FORM.showNew,
    "POST /webhooks/new": ({ WEBHOOK_FORM }) => WEBHOOK_FORM.create,
    "GET /webhooks/:id/edit": ({ WEBHOOK_FORM }) => WEBHOOK_FORM.edit,
    "POST /webhooks/:id/edit": ({ WEBHOOK_FORM }) => WEBHOOK_FORM.change,
  }),
  ...pagesOf(() => import("./webhooks/delivery_pages.tsx"), {
    "GET /deliveries": (module) => module.deliveryListPage,
    "GET /deliveries/:id": (module) => module.deliveryPage,
    "POST /deliveries/:id": (module) => module.redeliver,
  }),
  ...pagesOf(() => import("./alerts/alert_pages.tsx"), {
    "GET /alerts": (module) => module.alertListPage,
    "GET /alerts/:id": (module) => module.ALERT_PAGE.show,
    "POST /alerts/:id": (module) => module.ALERT_PAGE.act,
  }),
  ...pagesOf(() => import("./alerts/alert_form.tsx"), {
    "GET /alerts/new": ({ ALERT_FORM }) => ALERT_FORM.showNew,
    "POST /alerts/new": ({ ALERT_FORM }) => ALERT_FORM.create,
    "GET /alerts/:id/edit": ({ ALERT_FORM }) => ALERT_FORM.edit,
    "POST /alerts/:id/edit": ({ ALERT_FORM }) => ALERT_FORM.change,
  }),
  ...pagesOf(() => import("./settings/user_pages.tsx"), {
    "GET /users": (module) => module.userListPage,
    "POST /users": (module) => module.addUser,
    "GET /users/:id": (module) => module.userPage,
    "POST /users/:id": (module) => module.changeUser,
  }),
  ...pagesOf(() => import("./settings/key_page.tsx"), {
    "GET /keys": (module) => module.keyListPage,
    "POST /keys": (module) => module.makeKey,
    "POST /keys/:id": (module) => module.actOnKey,
  }),
  ...pagesOf(() => import("./settings/usage_page.tsx"), {
    "GET /usage": (module) => module.usagePage,
    "POST /usage": (module) => module.changeTenant,
  }),
  ...pagesOf(() => import("./settings/audit_page.tsx"), {
    "GET /audit": (module) => module.auditPage,
  }),
  ...NO_PAGES,
];

/** The pages that the operator's navigation leads to. */
export const OPERATOR_LINKS: readonly Omit<ConsoleLink, "scope">[] = [
  { path: "", text: "Overview" },
  { path: "/tenants", text: "Tenants" },
  { path: "/plans", text: "Plans" },
];

/** All pages for the operator. */
export const OPERATOR_PAGES: readonly ConsolePlace[] = [
  ...pagesOf(() => import("./operator/operator_page.tsx"), {
    "GET /": (module) => module.operatorPage,
    "GET /plans": (module) => module.planListPage,
  }),
  ...pagesOf(() => import("./operator/tenant_pages.tsx"), {
    "GET /tenants": (module) => module.tenantListPage,
    "POST /tenants": (module) => module.createTenant,
    "GET /tenants/:domain": (module) => module.tenantPage,
    "POST /tenants/:domain": (module) => module.changeTenant,
  }),
  ...NO_PAGES,
];
