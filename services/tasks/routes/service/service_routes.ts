/**
 * The routes that every host has: probes, the API's document, and what the kinds
 * of problems mean.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import { shownHost } from "../accounts/tenant_view.ts";
import { openApiOf } from "../../http/openapi.ts";
import { problem } from "../../http/problem_answer.ts";
import {
  parseProblemCode,
  type ProblemCode,
  problemKind,
} from "../../http/problem_catalog.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { described, shape } from "../../../shared/schema/schema.ts";
import { answerPublicPage, answerText, PAGE_TYPE } from "./public_page.ts";
import { ReadinessCheck } from "./readiness_check.ts";
import { HEALTH, PROBLEM_KIND, READINESS } from "./service_schema.ts";

/** The version of the API, which its paths begin with. */
const API_VERSION = "1";

const COMMON = {
  method: "GET",
  hosts: "any",
  tags: ["service"],
  access: { kind: "public" },
} as const;

/** Options of {@linkcode serviceRoutes}. */
export interface ServiceOptions {
  /** All routes, these among them; asked at the first request for the document. */
  readonly routes: () => readonly AnyRoute[];
}

/** The routes that every host has. */
export function serviceRoutes(
  parts: ApiParts,
  options: ServiceOptions,
): readonly AnyRoute[] {
  return [
    healthRoute(),
    readinessRoute(parts),
    documentRoute(parts, options),
    problemRoute(),
  ];
}

function healthRoute(): AnyRoute {
  return defineRoute({
    ...COMMON,
    path: "/healthz",
    operationId: "getHealth",
    summary: "Tell that the process answers",
    answers: { 200: { description: "It does", shape: HEALTH } },
    problems: [],
    handle: () => json({ status: "ok" }),
  });
}

function readinessRoute(
  { readiness, durability, engine }: ApiParts,
): AnyRoute {
  const check = new ReadinessCheck({
    ask: readiness,
    clock: engine.parts.clock,
  });
  return defineRoute({
    ...COMMON,
    path: "/readyz",
    operationId: "getReadiness",
    summary: "Tell whether the service does its work",
    description: "503 with the same checks as long as it does not.",
    answers: {
      200: { description: "It does", shape: READINESS },
    },
    problems: ["not_ready"],
    handle: async () => {
      const report = Object.entries(await check.report());
      const checks = Object.fromEntries(
        report.map(([name, { isReady, detail }]) => [
          name,
          { ready: isReady, ...(detail === undefined ? {} : { detail }) },
        ]),
      );
      const failing = report.filter(([, { isReady }]) => !isReady)
        .map(([name]) => name);
      if (failing.length === 0) {
        return json({ status: "ready", durability, checks });
      }
      return problem("not_ready", {
        detail: `Cannot serve: ${failing.join(", ")} not ready`,
        extensions: { durability, checks },
        retryAfterMs: 2_000,
      });
    },
  });
}

function documentRoute(
  { accounts }: ApiParts,
  { routes }: ServiceOptions,
): AnyRoute {
  let last: { readonly place: string; readonly text: string } | undefined;
  const textOf = ({ baseUrl }: Pick<CallContext, "baseUrl">): string => {
    const { serviceHost } = accounts;
    const host = shownHost({ baseUrl, serviceHost });
    const scheme = baseUrl.startsWith("https:") ? "https" : "http";
    const place = `${scheme}://${host}`;
    if (last?.place !== place) {
      const text = JSON.stringify(openApiOf(routes(), {
        title: "Tercet tasks",
        version: API_VERSION,
        description: "Schedules tasks for many tenants: at a time, after a " +
          "delay, by cron or interval, with retries and a history.",
        host,
        scheme,
      }));
      last = { place, text };
    }
    return last.text;
  };
  return defineRoute({
    ...COMMON,
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "Describe the API (OpenAPI 3.1)",
    answers: {
      200: {
        description: "The document",
        shape: described(shape({ type: "object" }), "An OpenAPI document"),
        example: { openapi: "3.1.0" },
      },
    },
    conditions: "read",
    problems: [],
    handle: (call) =>
      answerText(call, {
        text: textOf(call),
        contentType: "application/json",
      }),
  });
}

function problemRoute(): AnyRoute {
  return defineRoute({
    ...COMMON,
    path: "/problems/:code",
    operationId: "getProblemKind",
    summary: "Tell what a kind of problem means",
    description: "Where the `type` of problems leads to. With " +
      "`Accept: text/html` it is a page for people.",
    answers: {
      200: {
        description: "The kind of problem",
        shape: PROBLEM_KIND,
        pageType: PAGE_TYPE,
      },
    },
    conditions: "read",
    problems: ["not_acceptable"],
    handle: (call) => {
      const code = parseProblemCode(call.params["code"] ?? "");
      return code === undefined
        ? problem("not_found", {
          detail: "Cannot find kind of problem: there is none with this code",
        })
        : answerKind(call, code);
    },
  });
}

function answerKind(
  call: Pick<CallContext, "header">,
  code: ProblemCode,
): Answer {
  const { status, title, description, example } = problemKind(code);
  return answerPublicPage(call, {
    value: { code, status, title, description, example },
    title,
    rows: [
      ["code", code],
      ["status", String(status)],
      ["meaning", description],
      ["for example", example.detail],
    ],
  });
}
