/**
 * The console of the tenant "acme" over an engine in memory, used as a browser
 * uses it: with a cookie, forms and their values.
 *
 * @module
 */

import { gunzipSync } from "node:zlib";
import type { HttpResponse } from "../../../shared/http/exchange.ts";
import { allRoutes } from "../../routes/all_routes.ts";
import { openOperations } from "../../routes/tasks/bulk_routes.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
  type TestApiOptions,
} from "../../routes/testing/test_api.ts";
import { testRequest } from "../../routes/testing/test_request.ts";

/** An answer of the console. */
export interface ConsoleAnswer {
  /** The status. */
  readonly status: number;
  /** The body as text. */
  readonly html: string;
  /** The bytes of the body as it was sent. */
  readonly bytes: number;
  /** The headers, their names in lower case. */
  readonly headers: HttpResponse["headers"];
  /** The address it redirects to; empty without one. */
  readonly location: string;
}

/** A browser at the console. */
export interface TestConsole {
  /** The API whose console it is. */
  readonly api: TestApi;
  /** Headers that the browser sends with each request. */
  readonly headers: Record<string, string>;
  /** Reads a page, by its path below `/console`. */
  read(path: string): Promise<ConsoleAnswer>;
  /**
   * Sends a form; the value that protects it is that of the page read last,
   * unless the fields have another.
   */
  send(
    path: string,
    fields: Readonly<Record<string, string | readonly string[]>>,
  ): Promise<ConsoleAnswer>;
  /** Signs in; with the owner's key unless another is given. */
  signIn(key?: string): Promise<ConsoleAnswer>;
}

/** Makes a task, and the worker `mailer` when it is missing. */
export async function addTask(
  { api }: Pick<TestConsole, "api">,
  body: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { status } = await api.call("GET", "/v1/workers/mailer");
  if (status === 404) await api.addWorker({ name: "mailer" });
  const made = await api.call("POST", "/v1/tasks", {
    body: { worker: "mailer", ...body },
  });
  return made.textAt("id");
}

/** Opens the console before any sign-in. */
export async function openTestConsole(
  options: Partial<TestApiOptions> = {},
): Promise<TestConsole> {
  const api = await openTestApi({
    ...options,
    routes: (parts, console) =>
      allRoutes(parts, { operations: openOperations(parts.engine), console }),
  });
  const headers: Record<string, string> = {
    host: `acme.${SERVICE_HOST}`,
    "sec-fetch-site": "same-origin",
  };
  let csrf = "";
  const ask = async (
    method: string,
    path: string,
    body?: string,
  ): Promise<ConsoleAnswer> => {
    const response = await api.handler(testRequest({
      method,
      target: `/console${path}`,
      headers: {
        ...headers,
        ...(body === undefined
          ? {}
          : { "content-type": "application/x-www-form-urlencoded" }),
      },
      ...(body === undefined ? {} : { body }),
    }));
    const cookie = response.headers["set-cookie"];
    if (typeof cookie === "string") {
      headers.cookie = cookie.split(";", 1)[0] ?? "";
    }
    const sent = typeof response.body === "string"
      ? new TextEncoder().encode(response.body)
      : response.body ?? new Uint8Array();
    const html = new TextDecoder().decode(
      response.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent,
    );
    csrf = /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? csrf;
    const { location = "" } = response.headers;
    return {
      status: response.status,
      html,
      bytes: sent.length,
      headers: response.headers,
      location: String(location),
    };
  };
  const send: TestConsole["send"] = (path, fields) => {
    const form = new URLSearchParams({ csrf });
    for (const [name, value] of Object.entries(fields)) {
      form.delete(name);
      for (const one of [value].flat()) form.append(name, one);
    }
    return ask("POST", path, form.toString());
  };
  return {
    api,
    headers,
    read: (path) => ask("GET", path),
    send,
    signIn: (key = api.ownerKey) => send("/sign-in", { key }),
  };
}

/**
 * The values of the fields after a text of a page, as a browser sends them.
 */
export function fieldsOf(
  html: string,
  after: string,
): Record<string, string> {
  const decoded = (text: string): string =>
    text.replaceAll("&quot;", '"').replaceAll("&lt;", "<")
      .replaceAll("&amp;", "&");
  const main = html.slice(html.indexOf(after));
  const fields: Record<string, string> = {};
  for (const [tag] of main.matchAll(/<input[^>]*>/g)) {
    const name = / name="([^"]+)"/.exec(tag)?.[1] ?? "";
    fields[name] = decoded(/ value="([^"]*)"/.exec(tag)?.[1] ?? "");
  }
  for (
    const [, name = "", text = ""] of main.matchAll(
      /<textarea[^>]* name="([^"]+)"[^>]*>([^<]*)<\/textarea>/g,
    )
  ) fields[name] = decoded(text);
  for (
    const [, name = "", options = ""] of main.matchAll(
      /<select[^>]* name="([^"]+)"[^>]*>(.*?)<\/select>/gs,
    )
  ) {
    const chosen = /<option(?=[^>]* selected)[^>]* value="([^"]*)"/.exec(
      options,
    );
    fields[name] = chosen?.[1] ?? "";
  }
  return fields;
}
