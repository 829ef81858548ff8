/**
 * Where the service listens, and what a stranger's connection may take.
 *
 * @module
 */

import {
  metricsSettings,
  publicPortSettings,
} from "../../shared/http/public_settings.ts";
import { logSettings } from "../../shared/log_settings.ts";
import {
  durationSetting,
  integerSetting,
  listSetting,
  portSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Listener";

/** The settings of this group, by the name the service knows them under. */
export const listenerSettings = {
  ...publicPortSettings,
  ...logSettings,
  port: portSetting({
    name: "PORT",
    default: 8070,
    group: GROUP,
    help: "Port to listen on.",
  }),
  ...metricsSettings(9091),
  serviceHost: textSetting({
    name: "SERVICE_HOST",
    default: "localhost",
    group: GROUP,
    help: "Host whose subdomains are the tenants; accounts.<host> and " +
      "accounts.admin.<host> belong to the service.",
  }),
  tlsCertFile: textSetting({
    name: "TLS_CERT_FILE",
    default: "",
    group: GROUP,
    help: "Certificate chain as PEM, for every tenant's host name; with it " +
      "the port speaks https. Read again on SIGHUP.",
  }),
  tlsKeyFile: textSetting({
    name: "TLS_KEY_FILE",
    default: "",
    group: GROUP,
    help: "Private key of the certificate as PEM.",
  }),
  trustedProxies: listSetting({
    name: "TRUSTED_PROXIES",
    default: [],
    group: GROUP,
    help: "Addresses or networks of proxies whose X-Forwarded-Host, " +
      "X-Forwarded-Proto and X-Forwarded-For count.",
  }),
  maxBodyBytes: integerSetting({
    name: "MAX_BODY_BYTES",
    default: 16_777_216,
    min: 1_024,
    max: 268_435_456,
    group: GROUP,
    help: "Longest body of a request in bytes. Plans bound a single task's " +
      "data, whose body may be twice as long and 128 KiB.",
  }),
  maxBatchBytes: integerSetting({
    name: "MAX_BATCH_BYTES",
    default: 4_194_304,
    min: 1_024,
    max: 268_435_456,
    group: GROUP,
    help: "Longest body of a batch of tasks in bytes; 1,000 tasks of 4 KB " +
      "by default. MAX_BODY_BYTES bounds it, too.",
  }),
  maxBodiesBytes: integerSetting({
    name: "MAX_BODIES_BYTES",
    default: 134_217_728,
    min: 65_536,
    group: GROUP,
    help: "Bytes that the bodies of all requests together may hold while " +
      "they arrive, and again while they wait to be worked on; beyond it " +
      "503. Of bodies of more than 64 KiB, 16 MiB are worked on at once.",
  }),
  shutdownGraceMs: durationSetting({
    name: "SHUTDOWN_GRACE",
    default: "20s",
    min: "0s",
    group: GROUP,
    help: "Time that requests and push calls have to end when the service " +
      "stops; push calls that take longer are given back.",
  }),
};
