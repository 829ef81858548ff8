/**
 * The pages of the console: where each is, and what loads it. They are loaded
 * with the first request for one, so that a start of the service does not wait
 * for them.
 *
 * @module
 */

import type { Scope } from "../access/scope.ts";
import type { Page } from "./page.ts";

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
    load: async () => (await import("./overview_page.tsx")).overviewPage,
  },
  {
    method: "GET",
    path: "/tasks",
    load: async () => (await import("./task_list_page.tsx")).taskListPage,
  },
  {
    method: "GET",
    path: "/tasks/bulk",
    load: async () => (await import("./bulk_page.tsx")).bulkPreviewPage,
  },
  {
    method: "POST",
    path: "/tasks/bulk",
    load: async () => (await import("./bulk_page.tsx")).applyBulk,
  },
  {
    method: "GET",
    path: "/operations/:id",
    load: async () => (await import("./bulk_page.tsx")).operationPage,
  },
  {
    method: "GET",
    path: "/tasks/:id",
    load: async () => (await import("./task_page.tsx")).taskPage,
  },
  {
    method: "POST",
    path: "/tasks/:id",
    load: async () => (await import("./task_actions.tsx")).actOnTask,
  },
  { method: "GET", path: "/:page", load: () => Promise.resolve(noPage) },
  { method: "GET", path: "/:page/:id", load: () => Promise.resolve(noPage) },
];
