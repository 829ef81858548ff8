/**
 * The routes of the console.
 *
 * @module
 */

import type { Answer } from "../http/answer.ts";
import { InnerApi } from "../http/ask_api.ts";
import {
  ANY_QUERY,
  type AnyRoute,
  defineRoute,
  FORM_BODY,
} from "../http/route.ts";
import type { HostKind } from "../http/locate.ts";
import { problem } from "../http/problem_answer.ts";
import {
  CONSOLE_PAGES,
  CONSOLE_PATH,
  type ConsolePlace,
  OPERATOR_PAGES,
} from "./console_pages.ts";
import type { ConsoleParts, PageRequest } from "./parts/page.ts";

/** The routes of the console; `routes` has those of the API. */
export function consoleRoutes(
  parts: ConsoleParts,
  routes: () => readonly AnyRoute[],
): readonly AnyRoute[] {
  const api = new InnerApi(routes);
  const load = () => import("./answer_page.tsx");
  const signIn = () => import("./sign_in/sign_in.tsx");
  const provider = () => import("./sign_in/provider_sign_in.tsx");
  const at = (hosts: ConsoleHost, places: readonly ConsolePlace[]) => [
    ...places.map((place) =>
      pageRoute(
        hosts,
        place,
        async (call) =>
          (await load()).answerPage(call, { ...parts, api, place }),
      )
    ),
    ...(["GET", "POST"] as const).map((method) =>
      pageRoute(
        hosts,
        { method, path: "/sign-in" },
        async (call) => (await signIn()).answerSignIn(call, { ...parts, api }),
      )
    ),
    pageRoute(
      hosts,
      { method: "POST", path: "/sign-out" },
      async (call) => (await signIn()).signOut(call, parts),
    ),
    pageRoute(
      hosts,
      { method: "POST", path: "/theme" },
      async (call) => (await signIn()).setTheme(call),
    ),
    assetRoute(hosts),
  ];
  return [
    ...at("tenant", CONSOLE_PAGES),
    ...(parts.operatorDigests.length === 0
      ? []
      : at("accounts_admin", OPERATOR_PAGES)),
    ...(parts.login === undefined ? [] : [
      pageRoute(
        "tenant",
        { method: "GET", path: "/sign-in/provider" },
        async (call) => (await provider()).beginLogin(call, parts),
      ),
      pageRoute(
        "tenant",
        { method: "GET", path: "/sign-in/callback" },
        async (call) => (await provider()).finishLogin(call, { ...parts, api }),
      ),
    ]),
    pageRoute(
      "tenant",
      { method: "GET", path: "/events" },
      (call) => answerEvents(call, api),
    ),
  ];
}

/**
 * Tells pages that something has changed, at most once a second; what it is,
 * they ask by themselves.
 */
function answerEvents(call: PageRequest, api: InnerApi): Promise<Answer> {
  return call.caller === undefined
    ? Promise.resolve(problem("missing_credentials"))
    : api.answer(call, {
      path: "/v1/events",
      query: new URLSearchParams({ every: "PT1S" }),
    });
}

/** The hosts that have a console: those of tenants, and the operator's. */
type ConsoleHost = Extract<HostKind, "tenant" | "accounts_admin">;

/** What all routes of the console have in common. */
const CONSOLE_ROUTE = {
  isOutsideBase: true,
  isUndocumented: true,
  tags: ["console"],
  answers: { 200: { description: "A page", contentType: "text/html" } },
  problems: [],
} as const;

function pageRoute(
  hosts: ConsoleHost,
  { method, path }: Omit<ConsolePlace, "load">,
  handle: (call: PageRequest) => Promise<Answer>,
): AnyRoute {
  return defineRoute<URLSearchParams, URLSearchParams>({
    ...CONSOLE_ROUTE,
    hosts,
    method,
    path: CONSOLE_PATH + path,
    operationId: `console ${hosts} ${method} ${path}`,
    summary: "Show a page of the console",
    access: { kind: "session" },
    query: ANY_QUERY,
    ...(method === "POST" ? { body: FORM_BODY } : {}),
    handle,
  });
}

function assetRoute(hosts: ConsoleHost): AnyRoute {
  return defineRoute({
    ...CONSOLE_ROUTE,
    hosts,
    method: "GET",
    path: `${CONSOLE_PATH}/assets/:name`,
    operationId: `console ${hosts} assets`,
    summary: "Read the style or the script of the console",
    access: { kind: "public" },
    handle: async (call) => {
      const { ASSET_HEADERS, findAsset } = await import(
        "../../shared/console/assets.ts"
      );
      const asset = findAsset(call.params.name ?? "");
      if (asset === undefined) return problem("not_found");
      const form = await asset.text.formFor(call.header("accept-encoding"));
      return {
        kind: "bytes",
        status: 200,
        bytes: form.bytes,
        contentType: asset.contentType,
        headers: { ...ASSET_HEADERS, etag: form.etag, ...form.headers },
      };
    },
  });
}
