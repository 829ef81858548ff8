/**
 * Where the relayer listens, and what a stranger's connection may take.
 *
 * @module
 */

import {
  choiceSetting,
  durationSetting,
  integerSetting,
  listSetting,
  portSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Listener";

/** The settings of this group, by the name the service knows them under. */
export const listenerSettings = {
  host: textSetting({
    name: "HOST",
    default: "127.0.0.1",
    group: GROUP,
    help: "Address to listen on; 0.0.0.0 for all. Loopback unless set, so " +
      "nothing is open by accident.",
  }),
  port: portSetting({
    name: "PORT",
    default: 8000,
    group: GROUP,
    help: "Port to listen on.",
  }),
  publicUrl: textSetting({
    name: "PUBLIC_URL",
    default: "",
    group: GROUP,
    help: "Where clients reach the relayer, such as https://memory.example; " +
      "/config names it as the ledger's address when the ledger is embedded. " +
      "The address it listens on when empty.",
  }),
  corsOrigins: listSetting({
    name: "CORS_ORIGINS",
    default: ["*"],
    group: GROUP,
    help: "Origins whose pages may call; requests carry signatures and no " +
      "cookies, so * is safe.",
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
  maxBodiesBytes: integerSetting({
    name: "MAX_BODIES_BYTES",
    default: 134_217_728,
    min: 4_194_304,
    group: GROUP,
    help: "Bytes that the bodies of all requests together may hold while " +
      "they arrive; beyond it 503.",
  }),
  shutdownGraceMs: durationSetting({
    name: "SHUTDOWN_GRACE",
    default: "20s",
    min: "0s",
    group: GROUP,
    help: "Time that requests and jobs have to end when the service stops; " +
      "jobs that take longer go on at the next start.",
  }),
  logLevel: choiceSetting({
    name: "LOG_LEVEL",
    values: { debug: "debug", info: "info", warn: "warning", error: "error" },
    default: "info",
    group: GROUP,
    help: "The least severe messages that are logged.",
  }),
  logFormat: choiceSetting({
    name: "LOG_FORMAT",
    values: { text: "text", json: "json" },
    default: "text",
    group: GROUP,
    help: "How log lines are written.",
  }),
};
