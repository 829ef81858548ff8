/**
 * Bounds of a connection to a public port, and the settings that operators
 * change.
 *
 * @module
 */

import {
  durationOption,
  integerOption,
  type Option,
  type OptionValues,
  portOption,
  textOption,
} from "../options.ts";

/** The default limits of each connection. */
export const DEFAULT_LIMITS = {
  /**
   * Time for a TLS handshake, and for the head of a request from its first
   * byte, or from the beginning of the connection.
   */
  headerTimeoutMs: 10_000,
  /**
   * Time for a body from the moment the handler asks for it, and for the
   * client to take an answer. The time of a handler is not bounded.
   */
  requestTimeoutMs: 60_000,
  /** Time within which the next request must begin after an answer. */
  idleTimeoutMs: 75_000,
  /** Most bytes of a request's head, the request line included. */
  maxHeaderBytes: 16_384,
};

/** Bounds of each connection. */
export type ConnectionLimits = Readonly<typeof DEFAULT_LIMITS>;

/**
 * How long, and how much, is read from a client after the last answer, so that
 * it gets to see that answer: bytes that meet a closed socket are answered
 * with a reset, which overtakes what was sent before (RFC 9112, 9.6).
 */
export const DRAIN_TIMEOUT_MS = 5_000;
/** See {@linkcode DRAIN_TIMEOUT_MS}. */
export const MAX_DRAIN_BYTES = 16_777_216;

const GROUP = "Listener";

/** The settings, by the names that services know them under. */
export const publicPortSettings = {
  host: textOption({
    name: "HOST",
    default: "127.0.0.1",
    group: GROUP,
    help: "Address to listen on; 0.0.0.0 for all. The default is loopback, " +
      "so that no port is open by accident.",
  }),
  maxConnections: integerOption({
    name: "MAX_CONNECTIONS",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    group: GROUP,
    help: "Maximum number of open connections.",
  }),
  headerTimeoutMs: durationOption({
    name: "HEADER_TIMEOUT",
    default: "10s",
    min: "100ms",
    group: GROUP,
    help: "Time limit for the head of a request.",
  }),
  requestTimeoutMs: durationOption({
    name: "REQUEST_TIMEOUT",
    default: "60s",
    min: "100ms",
    group: GROUP,
    help: "Time limit for a whole request.",
  }),
  idleTimeoutMs: durationOption({
    name: "IDLE_TIMEOUT",
    default: "75s",
    min: "1s",
    group: GROUP,
    help: "Time limit for an idle connection between requests.",
  }),
};

/**
 * What a service with a public port has set: {@linkcode publicPortSettings},
 * and two whose defaults each service has of its own.
 */
interface PublicPortValues extends OptionValues<typeof publicPortSettings> {
  /** The port to listen on. */
  readonly port: number;
  /** Bytes that all bodies together may hold while they arrive. */
  readonly maxBodiesBytes: number;
}

/**
 * The options of a public server that the operator of the service sets. Not
 * taken from the server's file, as the launcher reads settings and may load no
 * package.
 */
interface PublicPortOptions
  extends Omit<PublicPortValues, "host" | "maxBodiesBytes"> {
  /** The address to listen on. */
  readonly hostname: string;
  /** Bytes that all bodies together may hold while they arrive. */
  readonly maxBodyBytesInFlight: number;
}

/**
 * Converts the settings to options of the server; other settings are ignored.
 */
export function publicServerOptions(
  settings: PublicPortValues,
): PublicPortOptions {
  const { port, maxConnections } = settings;
  const { headerTimeoutMs, requestTimeoutMs, idleTimeoutMs } = settings;
  return {
    hostname: settings.host,
    port,
    headerTimeoutMs,
    requestTimeoutMs,
    idleTimeoutMs,
    maxConnections,
    maxBodyBytesInFlight: settings.maxBodiesBytes,
  };
}

/** The settings of {@linkcode metricsSettings}. */
interface MetricsSettings {
  /** Address of the metrics port. */
  readonly metricsHost: Option<string>;
  /** The metrics port. */
  readonly metricsPort: Option<number>;
}

/**
 * Where a service serves its metrics: a port of its own, since they are not for
 * everybody who may reach the service.
 *
 * @param port The default, which each service has of its own.
 */
export function metricsSettings(port: number): MetricsSettings {
  return {
    metricsHost: textOption({
      name: "METRICS_HOST",
      default: "127.0.0.1",
      group: GROUP,
      help: "Address of the metrics port; 0.0.0.0 for all. The default is " +
        "loopback, because every client that reaches the port may read GET " +
        "/metrics.",
    }),
    metricsPort: portOption({
      name: "METRICS_PORT",
      default: port,
      group: GROUP,
      help: "Port of GET /metrics, in the format of Prometheus; with 0 the " +
        "system chooses one, and the log names it.",
    }),
  };
}
