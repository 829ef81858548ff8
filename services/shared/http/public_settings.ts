/**
 * Settings of every public port: where it listens and what a stranger's
 * connection may take.
 *
 * @module
 */

import {
  durationSetting,
  integerSetting,
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
