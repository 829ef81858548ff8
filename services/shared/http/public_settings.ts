/**
 * Settings of every public port: where it listens and what a stranger's
 * connection may take.
 *
 * @module
 */

import {
  durationSetting,
  integerSetting,
  portSetting,
  type Setting,
  type SettingsValues,
  textSetting,
} from "../settings.ts";
import type { PublicLimits } from "./public_limits.ts";

const GROUP = "Listener";

/** The settings, by the names that services know them under. */
export const publicPortSettings = {
  host: textSetting({
    name: "HOST",
    default: "127.0.0.1",
    group: GROUP,
    help: "Address to listen on; 0.0.0.0 for all. Loopback unless set, so " +
      "nothing is open by accident.",
  }),
  maxConnections: integerSetting({
    name: "MAX_CONNECTIONS",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    group: GROUP,
    help: "Connections that are kept open at once.",
  }),
  headerTimeoutMs: durationSetting({
    name: "HEADER_TIMEOUT",
    default: "10s",
    min: "100ms",
    group: GROUP,
    help: "Time a client has for the head of a request.",
  }),
  requestTimeoutMs: durationSetting({
    name: "REQUEST_TIMEOUT",
    default: "60s",
    min: "100ms",
    group: GROUP,
    help: "Time a client has for all of a request.",
  }),
  idleTimeoutMs: durationSetting({
    name: "IDLE_TIMEOUT",
    default: "75s",
    min: "1s",
    group: GROUP,
    help: "How long a connection may be idle between requests.",
  }),
};

/**
 * What a service with a public port has set: {@linkcode publicPortSettings}, and
 * two whose defaults each service has of its own.
 */
export interface PublicPortValues
  extends SettingsValues<typeof publicPortSettings> {
  /** The port to listen on. */
  readonly port: number;
  /** Bytes that all bodies together may hold while they arrive. */
  readonly maxBodiesBytes: number;
}

/**
 * The options of a public server that are set by whoever runs the service. Not
 * taken from the server's file, as the launcher reads settings and may load no
 * package.
 */
export interface PublicPortOptions extends
  Pick<
    PublicLimits,
    "headerTimeoutMs" | "requestTimeoutMs" | "idleTimeoutMs"
  > {
  /** The address to listen on. */
  readonly hostname: string;
  /** The port to listen on. */
  readonly port: number;
  /** Connections open at a time. */
  readonly maxConnections: number;
  /** Bytes that all bodies together may hold while they arrive. */
  readonly maxBodyBytesInFlight: number;
}

/** The options that settings make; other settings of a service stay out of it. */
export function publicServerOptions(
  settings: PublicPortValues,
): PublicPortOptions {
  return {
    hostname: settings.host,
    port: settings.port,
    headerTimeoutMs: settings.headerTimeoutMs,
    requestTimeoutMs: settings.requestTimeoutMs,
    idleTimeoutMs: settings.idleTimeoutMs,
    maxConnections: settings.maxConnections,
    maxBodyBytesInFlight: settings.maxBodiesBytes,
  };
}

/** The settings of {@linkcode metricsSettings}. */
export interface MetricsSettings {
  /** Address of the metrics port. */
  readonly metricsHost: Setting<string>;
  /** The metrics port. */
  readonly metricsPort: Setting<number>;
}

/**
 * Where a service tells its metrics: a port of its own, since they are not for
 * everybody who may reach the service.
 *
 * @param port The default, which each service has of its own.
 */
export function metricsSettings(port: number): MetricsSettings {
  return {
    metricsHost: textSetting({
      name: "METRICS_HOST",
      default: "127.0.0.1",
      group: GROUP,
      help: "Address of the metrics port; 0.0.0.0 for all. Loopback unless " +
        "set: every client that reaches it may read GET /metrics.",
    }),
    metricsPort: portSetting({
      name: "METRICS_PORT",
      default: port,
      group: GROUP,
      help: "Port of GET /metrics, in the format of Prometheus; with 0 the " +
        "system chooses one, which the log tells.",
    }),
  };
}
