/**
 * The routes of the API's OpenAPI document and of the HTML page made from it.
 * Both name the host by which the client asked.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { CodedText } from "../../../shared/http/coded_text.ts";
import { apiPageHeaders, apiPageHtml } from "../../../shared/openapi/page.ts";
import { described, shape } from "../../../shared/schema/schema.ts";
import type { CallContext } from "../../http/call.ts";
import { buildOpenApi } from "../../http/openapi.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { shownHost } from "../accounts/tenant_fields.ts";
import { answerCoded, PAGE_TYPE, SERVICE_ROUTE } from "./public_page.ts";

/** The version of the API, which its paths begin with. */
const API_VERSION = "1";

/**
 * Stands for the service's host in texts that are made once: making them takes
 * long, and clients may ask by any port.
 */
const HOST_MARK = "service-host.invalid";

/** Most host names for which texts are kept. */
const MAX_NAMES = 4;

type Scheme = "http" | "https";

/** The kinds of texts. */
type Kind = "document" | "page";

/**
 * The two routes. `routes` returns all routes of the API; it is called at the
 * first request for the document.
 */
export function documentRoutes(
  serviceHost: string,
  routes: () => readonly AnyRoute[],
): readonly AnyRoute[] {
  const description = new Description(serviceHost, routes);
  return [documentRoute(description), pageRoute(description)];
}

function documentRoute(description: Description): AnyRoute {
  return defineRoute({
    ...SERVICE_ROUTE,
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "Describe the API (OpenAPI 3.1)",
    description: "Compressed with `Accept-Encoding: gzip`.",
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
      answerCoded(call, {
        text: description.document(call),
        contentType: "application/json",
      }),
  });
}

function pageRoute(description: Description): AnyRoute {
  return defineRoute({
    ...SERVICE_ROUTE,
    path: "/docs",
    operationId: "getDocs",
    summary: "Show the API as a page for people",
    description: "Made of the document; loads nothing from elsewhere.",
    answers: {
      200: {
        description: "The page",
        shape: shape({ type: "string" }),
        contentType: PAGE_TYPE,
        example: "<!doctype html><title>…</title>",
      },
    },
    conditions: "read",
    problems: [],
    handle: (call) =>
      answerCoded(call, {
        text: description.page(call),
        contentType: `${PAGE_TYPE}; charset=utf-8`,
        headers: apiPageHeaders(),
      }),
  });
}

/** Makes the texts that describe an API, and keeps them. */
class Description {
  readonly #serviceHost: string;
  readonly #routes: () => readonly AnyRoute[];
  readonly #templates = new Map<string, string>();
  readonly #texts = new BoundedMap<string, CodedText>({
    maxEntries: 2 * MAX_NAMES,
  });

  /**
   * Describes the routes that `routes` returns, which is called when a text is
   * first needed.
   */
  constructor(serviceHost: string, routes: () => readonly AnyRoute[]) {
    this.#serviceHost = serviceHost;
    this.#routes = routes;
  }

  /** The document (OpenAPI 3.1, JSON). */
  document(call: Pick<CallContext, "baseUrl">): CodedText {
    return this.#text("document", call);
  }

  /** The page for people (HTML). */
  page(call: Pick<CallContext, "baseUrl">): CodedText {
    return this.#text("page", call);
  }

  #text(kind: Kind, { baseUrl }: Pick<CallContext, "baseUrl">): CodedText {
    const host = shownHost({ baseUrl, serviceHost: this.#serviceHost });
    const scheme = baseUrl.startsWith("https:") ? "https" : "http";
    const place = `${kind} ${scheme}://${host}`;
    let text = this.#texts.get(place);
    if (text === undefined) {
      const template = this.#template(kind, scheme);
      text = new CodedText(template.replaceAll(HOST_MARK, host));
      this.#texts.set(place, text);
    }
    return text;
  }

  #template(kind: Kind, scheme: Scheme): string {
    const name = `${kind} ${scheme}`;
    let template = this.#templates.get(name);
    if (template === undefined) {
      template = kind === "page"
        ? apiPageHtml(JSON.parse(this.#template("document", scheme)))
        : JSON.stringify(buildOpenApi(this.#routes(), {
          title: "Tercet tasks",
          version: API_VERSION,
          description: "Schedules tasks for many tenants: at a time, after a " +
            "delay, by cron or interval, with retries and a history.",
          host: HOST_MARK,
          scheme,
        }));
      this.#templates.set(name, template);
    }
    return template;
  }
}
