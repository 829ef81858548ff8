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
import type { Part } from "../stopper.ts";
import type { HttpRequest, HttpResponse } from "./exchange.ts";
import { localHostFault } from "./local_peer.ts";
import { openPort, shownAddress } from "./open_port.ts";

/** The media type of metrics: the text format of Prometheus, version 0.0.4. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** What a metrics port is made of. */
interface MetricsPortOptions {
  /** The setting METRICS_HOST. */
  readonly host: string;
  /** The setting METRICS_PORT; 0 lets the system choose one. */
  readonly port: number;
  /** The metrics as they are now, in the format of {@linkcode METRICS_TYPE}. */
  readonly text: () => string;
  /** Told where the port is. */
  readonly logger: Logger;
  /** The time. */
  readonly clock: Clock;
}

/** Scrapers are few; this bounds what others can open. */
const MAX_CONNECTIONS = 64;

/**
 * Makes the part of a service that answers `GET /metrics` and nothing else. Its
 * start fails when the port is taken, and the error names METRICS_PORT: a
 * service that cannot be watched is not what was asked for.
 */
export function metricsPart(options: MetricsPortOptions): Part {
  const { host, port, logger, clock } = options;
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
        host,
        port,
        hostSetting: "METRICS_HOST",
        portSetting: "METRICS_PORT",
      });
      const shown = shownAddress(opened.hostname, opened.port);
      logger.info(`Metrics on http://${shown}/metrics`);
    },
    stop: (graceMs) => server.stop(graceMs),
  };
}

function answerMetrics(
  { method, target, headers, peer }: HttpRequest,
  { host, text }: MetricsPortOptions,
): HttpResponse {
  const asked = { host: headers.get("host"), address: peer.address };
  const fault = localHostFault(asked, {
    host,
    setting: "METRICS_HOST",
    tells: "metrics",
  });
  if (fault !== undefined) return plain(403, fault);
  const [path] = target.split("?", 1);
  if (path !== "/metrics") {
    return plain(404, "Cannot find path: there is only /metrics");
  }
  if (method !== "GET" && method !== "HEAD") {
    const refused = plain(405, "Cannot use this method: metrics are for GET");
    return { ...refused, headers: { ...refused.headers, allow: "GET, HEAD" } };
  }
  return answer(200, { type: METRICS_TYPE, body: text() });
}

function plain(status: number, text: string): HttpResponse {
  return answer(status, {
    type: "text/plain; charset=utf-8",
    body: `${text}\n`,
  });
}

function answer(
  status: number,
  { type, body }: { readonly type: string; readonly body: string },
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
