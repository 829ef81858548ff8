/**
 * The port that serves a service's metrics in the text format of Prometheus.
 *
 * It is apart from the service's own port, so that only those who can reach it
 * read how many users and requests there are.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { Http1Server } from "../http1/server.ts";
import type { Logger } from "../logger.ts";
import { METRICS_TYPE } from "../metrics_text.ts";
import type { Part } from "../stopper.ts";
import { localHostFault } from "./client_address.ts";
import type { HttpRequest, HttpResponse } from "./exchange.ts";
import { openPort, shownAddress } from "./open_port.ts";

/** Options of {@linkcode metricsPart}. */
interface MetricsPortOptions {
  /** The service whose metrics they are. */
  readonly service: string;
  /** Its address. */
  readonly host: string;
  /** Its port; 0 lets the system choose one. */
  readonly port: number;
  /**
   * The settings of both, for errors.
   *
   * @default METRICS_HOST and METRICS_PORT
   */
  readonly settings?: { readonly host: string; readonly port: string };
  /**
   * Where the metrics are.
   *
   * @default "/metrics"
   */
  readonly path?: string;
  /**
   * The metrics as they are now, in the format of {@linkcode METRICS_TYPE};
   * bytes are UTF-8.
   */
  readonly text: () => string | Promise<string | Uint8Array>;
  /**
   * Answers paths beside that of the metrics; undefined for those it does not
   * know.
   *
   * @default there are no others
   */
  readonly pages?:
    | ((request: HttpRequest) => Promise<HttpResponse> | undefined)
    | undefined;
  /** Logs the URL of the metrics. */
  readonly logger: Logger;
  /** The time. */
  readonly clock: Clock;
}

/** Scrapers are few; this bounds what others can open. */
const MAX_CONNECTIONS = 64;

const SETTINGS = { host: "METRICS_HOST", port: "METRICS_PORT" } as const;
const PATH = "/metrics";

/**
 * Makes the part of a service that answers GET of its metrics, and of pages for
 * the operator.
 * Its start fails when the port is taken, and the error names the setting: a
 * service that cannot be watched is not what was asked for.
 */
export function metricsPart(options: MetricsPortOptions): Part {
  const { service, host, port, path = PATH, logger, clock } = options;
  const { settings = SETTINGS } = options;
  const server = new Http1Server({
    hostname: host,
    port,
    maxConnections: MAX_CONNECTIONS,
    handler: (request) => answerMetrics(request, options),
    logger,
    clock,
  });
  return {
    name: "metrics port",
    async start() {
      const opened = await openPort(() => server.start(), {
        service,
        what: "metrics",
        host,
        port,
        hostSetting: settings.host,
        portSetting: settings.port,
      });
      const shown = shownAddress(opened.hostname, opened.port);
      logger.info(`Metrics on http://${shown}${path}`);
    },
    stop: (graceMs) => server.stop(graceMs),
  };
}

function answerMetrics(
  request: HttpRequest,
  { host, text, path = PATH, settings = SETTINGS, pages }: MetricsPortOptions,
): HttpResponse | Promise<HttpResponse> {
  const { method, target, headers, peer } = request;
  const asked = { host: headers.get("host"), address: peer.address };
  const fault = localHostFault(asked, {
    host,
    setting: settings.host,
    tells: "metrics",
  });
  if (fault !== undefined) return plain(403, fault);
  if (target.split("?", 1)[0] !== path) {
    return pages?.(request) ??
      plain(404, `Cannot find path: there is only ${path}`);
  }
  if (method !== "GET" && method !== "HEAD") {
    const refused = plain(405, "Cannot use this method: metrics are for GET");
    return { ...refused, headers: { ...refused.headers, allow: "GET, HEAD" } };
  }
  const body = text();
  return body instanceof Promise
    ? body.then((made) => answer(200, { type: METRICS_TYPE, body: made }))
    : answer(200, { type: METRICS_TYPE, body });
}

function plain(status: number, text: string): HttpResponse {
  return answer(status, {
    type: "text/plain; charset=utf-8",
    body: `${text}\n`,
  });
}

function answer(
  status: number,
  { type, body }: { readonly type: string; readonly body: string | Uint8Array },
): HttpResponse {
  return {
    status,
    headers: {
      "content-type": type,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
    body,
  };
}
