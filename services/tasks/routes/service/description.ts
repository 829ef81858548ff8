/**
 * The API's document and the page that is made of it, under the name by which the
 * service is asked for them.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { CodedText } from "../../../shared/http/coded_text.ts";
import { apiPageHtml } from "../../../shared/openapi/page.ts";
import type { CallContext } from "../../http/call.ts";
import { openApiOf } from "../../http/openapi.ts";
import type { AnyRoute } from "../../http/route.ts";
import { shownHost } from "../accounts/tenant_fields.ts";

/** The version of the API, which its paths begin with. */
const API_VERSION = "1";

/**
 * Stands for the service's host in texts that are made once: making them takes
 * long, and a client may ask by any port.
 */
const HOST_MARK = "service-host.invalid";

/** Most names that texts are kept of. */
const MAX_NAMES = 4;

type Scheme = "http" | "https";

/** The kinds of texts. */
type Kind = "document" | "page";

/** Describes an API. */
export class Description {
  readonly #serviceHost: string;
  readonly #routes: () => readonly AnyRoute[];
  readonly #templates = new Map<string, string>();
  readonly #texts = new BoundedMap<string, CodedText>({
    maxEntries: 2 * MAX_NAMES,
  });

  /** Describes all routes, which are asked for when it first needs them. */
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
        : JSON.stringify(openApiOf(this.#routes(), {
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
