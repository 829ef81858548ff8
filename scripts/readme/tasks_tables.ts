/**
 * Generates the tables about the API of the tasks service: its routes, its
 * problems and its events.
 *
 * @module
 */

import type { JsonSchema } from "../../services/shared/schema/schema.ts";
import {
  EVENT_TYPES,
  meaningOf,
  subjectOf,
} from "../../services/tasks/domain/event_types.ts";
import { buildOpenApi } from "../../services/tasks/http/openapi.ts";
import {
  PROBLEM_CODES,
  problemKind,
} from "../../services/tasks/http/problem_catalog.ts";
import type { AnyRoute } from "../../services/tasks/http/route.ts";
import { allRoutes } from "../../services/tasks/routes/all_routes.ts";
import { EVENT_SCOPES } from "../../services/tasks/routes/events/events_route.ts";
import { openOperations } from "../../services/tasks/routes/tasks/bulk_routes.ts";
import { openTestApi } from "../../services/tasks/routes/testing/test_api.ts";

/** Returns all routes of the tasks service. */
export async function tasksRoutes(): Promise<readonly AnyRoute[]> {
  let routes: readonly AnyRoute[] = [];
  const api = await openTestApi({
    routes: (parts) => {
      routes = allRoutes(parts, { operations: openOperations(parts.engine) });
      return routes;
    },
  });
  await api.close();
  return routes;
}

/** Returns the named schemas of the document of the API. */
export async function tasksSchemas(): Promise<
  Readonly<Record<string, JsonSchema>>
> {
  const { components } = buildOpenApi(await tasksRoutes(), {
    title: "Tercet tasks",
    version: "1",
    host: "example.com",
  });
  return components.schemas;
}

/**
 * Returns a table with a row for each route: how to call it, what it does, who
 * may call it.
 */
export async function tasksRoutesMarkdown(): Promise<string> {
  const routes = await tasksRoutes();
  const hosts = new Map<string, AnyRoute[]>();
  for (const route of routes) {
    const title = HOST_TITLES[route.hosts];
    const others = hosts.get(title);
    if (others === undefined) hosts.set(title, [route]);
    else others.push(route);
  }
  return [...hosts].map(([title, ofHost]) =>
    [
      `### ${title}`,
      "",
      "| Route | What it does | Who may call it |",
      "| --- | --- | --- |",
      ...ofHost.map(routeRow),
    ].join("\n")
  ).join("\n\n");
}

/**
 * Returns a table with a row for each kind of problem, in the order of status
 * codes.
 */
export function tasksProblemsMarkdown(): string {
  return [
    "| Code | Status | When, and what to do |",
    "| --- | ---: | --- |",
    ...PROBLEM_CODES.map((code) => {
      const { status, title, description } = problemKind(code);
      return `| \`${code}\` | ${status} | ${title}. ${cell(description)} |`;
    }),
  ].join("\n");
}

/** Returns a table with a row for each type of events. */
export function tasksEventsMarkdown(): string {
  return [
    "| Type | When | Scope |",
    "| --- | --- | --- |",
    ...EVENT_TYPES.map((type) =>
      `| \`${type}\` | ${cell(meaningOf(type))} | \`${
        EVENT_SCOPES[subjectOf(type)]
      }\` |`
    ),
  ].join("\n");
}

const HOST_TITLES: Readonly<Record<AnyRoute["hosts"], string>> = {
  tenant: "A tenant's host, below `/api`",
  accounts: "`accounts.<SERVICE_HOST>`",
  accounts_admin: "`accounts.admin.<SERVICE_HOST>`",
  apex: "`<SERVICE_HOST>`",
  any: "Every host",
};

function routeRow({ method, path, summary, access }: AnyRoute): string {
  const shown = path.replaceAll(/:(\w+)/g, "{$1}");
  return `| \`${method} ${shown}\` | ${cell(summary)} | ${whoMay(access)} |`;
}

function whoMay(access: AnyRoute["access"]): string {
  switch (access.kind) {
    case "public":
      return "everyone";
    case "session":
      return "who has signed in to the console";
    case "caller":
      return "every user or key";
    case "member":
      return `${access.role}, or scope \`${access.scope}\``;
    case "worker":
      return "the worker's credential, or scope to lease";
    case "lease":
      return "the token of the lease";
    case "operator":
      return "`OPERATOR_TOKEN`";
  }
}

/** Escapes a text for a cell of a Markdown table. */
export function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
