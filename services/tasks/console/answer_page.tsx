/**
 * Answers requests for pages of the console: lets in who has signed in, checks
 * that forms come from a page of the same session, and renders what a page
 * gives.
 *
 * @module
 */

import { gzipSync } from "node:zlib";
import {
  CONSOLE_HEADERS,
  type NavigationLink,
  renderPage,
  type Theme,
} from "../../shared/console/layout.tsx";
import { Note, type Tone } from "../../shared/console/parts.tsx";
import { acceptsGzip } from "../../shared/http/coded_text.ts";
import { getScopes } from "../access/caller.ts";
import {
  csrfOf,
  isCsrfOf,
  readCookie,
  readSessionCookie,
} from "../access/session_cookie.ts";
import type { Answer } from "../http/answer.ts";
import type { ApiQuestion, InnerApi } from "../http/ask_api.ts";
import type { CallContext } from "../http/call.ts";
import { problemOfError } from "../http/problem_answer.ts";
import { problemKind } from "../http/problem_catalog.ts";
import {
  CONSOLE_LINKS,
  CONSOLE_PATH,
  type ConsolePlace,
  OPERATOR_LINKS,
} from "./console_pages.ts";
import {
  type ConsoleParts,
  type PageAnswer,
  type PageCall,
  type PageContent,
  type PageRequest,
  refusalOf,
  type ShownProblem,
  type Shows,
  withQuery,
} from "./parts/page.ts";

/** What pages are answered with. */
export interface AnswerOptions extends ConsoleParts {
  /** The API. */
  readonly api: InnerApi;
}

/** Answers a request for a page, or what a form of it sends. */
export async function answerPage(
  call: PageRequest,
  options: AnswerOptions & {
    /** The page. */
    readonly place: Pick<ConsolePlace, "method" | "load">;
  },
): Promise<Answer> {
  const page = openPage(call, options.api);
  if (call.caller === undefined) {
    const next = options.place.method === "GET" ? page.path : page.base;
    return redirect(withQuery(`${page.base}/sign-in`, { next }));
  }
  if (options.place.method === "POST" && !isOwnForm(call)) {
    return await show(page, FOREIGN_FORM);
  }
  try {
    const answer = await (await options.place.load())(page);
    return await show(page, answer);
  } catch (error) {
    const { requestId } = call;
    const { code, detail } = problemOfError(error, { requestId, ...options });
    const { status, title } = problemKind(code);
    const body = { code, title, detail, request_id: requestId };
    return await show(page, {
      kind: "refused",
      answer: { status, body, headers: {} },
    });
  }
}

/** The name of the cookie that keeps the reader's choice of colours. */
export const THEME_COOKIE = "tercet_theme";

/** Reads the colours that a form or a cookie asks for. */
export function readTheme(text: string | undefined): Theme {
  return text === "light" || text === "dark" ? text : "system";
}

/** The page that a request is for, as its handler gets it. */
export function openPage(call: PageRequest, api?: InnerApi): PageCall {
  const { query, body: form, rawQuery, caller, nowMs, params } = call;
  const prefix = new URL(call.baseUrl).pathname.replace(/\/(?:api)?$/, "");
  const base = prefix + CONSOLE_PATH;
  const token = readSessionCookie(call.header("cookie"), schemeOf(call));
  const ask: PageCall["ask"] = (question) => {
    if (api === undefined) throw new TypeError("Cannot ask: no API is given");
    return api.ask(call, question);
  };
  return {
    call,
    base,
    here: call.path,
    path: call.path + (rawQuery === "" ? "" : `?${rawQuery}`),
    params,
    query,
    form: form ?? new URLSearchParams(),
    csrf: caller === undefined || token === undefined ? "" : csrfOf(token),
    caller,
    nowMs,
    ask,
    async show<Body>(question: ApiQuestion, content: Shows<Body>) {
      const answer = await ask(question);
      return refusalOf(answer) ?? content(answer.body as Body, answer);
    },
  };
}

/** How the reader reaches the console. */
export function schemeOf(
  { baseUrl }: Pick<CallContext, "baseUrl">,
): "http" | "https" {
  return baseUrl.startsWith("https:") ? "https" : "http";
}

/** Whether a form was sent by a page of the sender's own session. */
export function isOwnForm(call: PageRequest): boolean {
  const token = readSessionCookie(call.header("cookie"), schemeOf(call));
  return token !== undefined && isFromHere(call) &&
    isCsrfOf(token, call.body?.get("csrf") ?? null);
}

/**
 * Whether the browser says that a form was sent from a page of this host.
 * Programs that are no browsers say nothing.
 */
export function isFromHere(call: CallContext): boolean {
  const site = call.header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = call.header("origin");
  return origin === undefined || origin === new URL(call.baseUrl).origin;
}

/** The answer to a form that is not from a page of the same session. */
export const FOREIGN_FORM: PageContent = {
  kind: "page",
  title: "The form is out of date",
  status: 403,
  content: (
    <Note tone="bad">
      <p>
        Nothing was changed: the form comes from another site, or from before
        the last sign-in. Go back, load the page again and send it once more.
      </p>
    </Note>
  ),
};

/** Sends the browser to another page, which it reads with GET. */
export function redirect(to: string, cookie?: string): Answer {
  return {
    kind: "empty",
    status: 303,
    headers: {
      location: to,
      ...(cookie === undefined ? {} : { "set-cookie": cookie }),
    },
  };
}

/** Renders the answer of a page. */
export async function show(
  page: PageCall,
  answer: PageAnswer,
): Promise<Answer> {
  if (answer.kind === "redirect") return redirect(answer.to, answer.cookie);
  const content = answer.kind === "page" ? answer : problemPage(answer);
  const { call, base, path, caller, csrf, query } = page;
  const scopes = caller === undefined ? new Set() : getScopes(caller);
  const pages = caller?.kind === "operator"
    ? OPERATOR_LINKS
    : CONSOLE_LINKS.filter(({ scope }) => scopes.has(scope));
  const links = pages
    .map(({ path, text }): NavigationLink => ({ href: base + path, text }));
  const flash = flashText(query);
  const html = renderPage({
    service: "tasks",
    place: call.tenant?.domain ?? "operator",
    title: content.title,
    heading: content.heading,
    actions: content.actions,
    base,
    path,
    links,
    csrf: csrf === "" ? undefined : csrf,
    theme: readTheme(readCookie(call.header("cookie"), THEME_COOKIE)),
    // The operator has no events; those of tenants are theirs.
    events: csrf === "" || call.tenant === undefined
      ? undefined
      : `${base}/events`,
    refreshSeconds: content.refreshSeconds,
    goTo: content.goTo,
    content: (
      <>
        {flash === undefined ? null : (
          <Note tone={flash.tone}>
            <p role="status">{flash.text}</p>
          </Note>
        )}
        {content.content}
      </>
    ),
  });
  // Rendering took its time; others go first.
  await call.pausing.pause();
  return textAnswer(call, html, content);
}

/**
 * The page as bytes, gzipped where the browser takes that. No page of another
 * site can make a browser send the cookie, so the lengths of pages
 * tell no other site the value of the forms.
 */
function textAnswer(
  call: CallContext,
  html: string,
  { status = 200, cookie }: Pick<PageContent, "status" | "cookie">,
): Answer {
  const bytes = new TextEncoder().encode(html);
  const isCoded = acceptsGzip(call.header("accept-encoding"));
  const { "content-type": contentType, ...headers } = CONSOLE_HEADERS;
  return {
    kind: "bytes",
    status,
    bytes: isCoded ? gzipSync(bytes, { level: 4 }) : bytes,
    contentType,
    headers: {
      ...headers,
      vary: "accept-encoding",
      ...(isCoded ? { "content-encoding": "gzip" } : {}),
      ...(cookie === undefined ? {} : { "set-cookie": cookie }),
    },
  };
}

function problemPage(
  { answer: { status, body } }: Extract<PageAnswer, { kind: "refused" }>,
): PageContent {
  const { title, detail, errors = [], request_id: id } = body as ShownProblem;
  return {
    kind: "page",
    title,
    status,
    content: (
      <Note tone="bad" isUrgent>
        <p>{detail ?? title}</p>
        {errors.length === 0
          ? null
          : <ul>{errors.map((error) => <li>{error.detail}</li>)}</ul>}
        {id === undefined ? null : <p class="dim">{`Request ${id}`}</p>}
      </Note>
    ),
  };
}

/**
 * What a page says about the action that led to it. The address has a code and
 * numbers, so that no link can make a page say anything else.
 */
const FLASHES: Readonly<Record<string, string>> = {
  signed_out: "You are signed out.",
  run: "The task runs as soon as its worker takes it.",
  retry: "The task is tried again.",
  cancel: "The task is canceled.",
  pause: "The task is paused.",
  resume: "The task goes on.",
  event: "The event is sent: the task goes on if it waits for it.",
  approve: "It is approved: the task goes on.",
  reject: "It is rejected: the task goes on with that.",
  remove: "The task and its history are removed.",
  skip: "The schedule leaves out that day.",
  created: "It is created.",
  removed: "It is removed.",
  revoked: "The key is revoked: it no longer works.",
  worker_pause: "The worker is paused: it is given nothing.",
  worker_resume: "The worker goes on.",
  saved: "The changes are saved.",
  redelivered: "The event is sent again.",
  bulk:
    "{changed} changed, {unchanged} needed no change, {failed} could not be " +
    "changed.",
};

/** The text for the code `done` of a query; undefined without a known code. */
function flashText(
  query: URLSearchParams,
): { readonly text: string; readonly tone: Tone } | undefined {
  const text = FLASHES[query.get("done") ?? ""];
  if (text === undefined) return undefined;
  return {
    text: text.replaceAll(
      /\{([a-z]+)\}/g,
      (_, name: string) => String(Number(query.get(name) ?? 0) || 0),
    ),
    tone: Number(query.get("failed") ?? 0) > 0 ? "warn" : "good",
  };
}
