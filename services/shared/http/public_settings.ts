/**
 * Settings of every public port: where it listens and what a stranger's
 * connection may take.
 *
 * @module
 */

import { durationSetting, integerSetting, textSetting } from "../settings.ts";

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
