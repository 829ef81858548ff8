/**
 * The port that serves a service's metrics in the text format of Prometheus.
 *
 * It is apart from the service's own port, so that only those who can reach it
 * read how many users and requests there are.
 *
 * @module
 */

import { isIP } from "node:net";
import type { Clock } from "../clock.ts";
import { Http1Server } from "../http1/server.ts";
import type { Logger } from "../logger.ts";
import type { Part } from "../stopper.ts";
import type { HttpRequest, HttpResponse } from "./exchange.ts";
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

/**
 * Tells why a request for metrics is refused; undefined when it is not.
 *
 * A page in a browser of this machine can have its own host name resolve to
 * 127.0.0.1 and then read what it finds there (DNS rebinding). So a client on
 * this machine must name an address, `localhost` or the host that was set: a
 * page of another site has none of them as its origin.
 *
 * @param request The field Host as it was sent, and the client's address.
 * @param ownHost The setting METRICS_HOST.
 */
export function metricsRequestFault(
  request: { readonly host: string | undefined; readonly address: string },
  ownHost: string,
): string | undefined {
  const { host, address } = request;
  // Browsers always send the field.
  if (host === undefined || !isLoopbackAddress(address)) return undefined;
  const name = host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (isIP(name) !== 0 || name === "localhost") return undefined;
  if (name === ownHost.toLowerCase()) return undefined;
  return `Cannot tell metrics to host "${name}" on this machine: ask by ` +
    "address, by localhost, or by the name in METRICS_HOST";
}

/**
 * Tells whether an address is of this machine: a loopback address (RFC 5735 and
 * RFC 4291). A proxy on this machine makes every client look local.
 */
function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);
}

function answerMetrics(
  { method, target, headers, peer }: HttpRequest,
  { host, text }: MetricsPortOptions,
): HttpResponse {
  const asked = { host: headers.get("host"), address: peer.address };
  const fault = metricsRequestFault(asked, host);
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
