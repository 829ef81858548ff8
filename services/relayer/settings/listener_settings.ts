/**
 * Where the relayer listens, and what a stranger's connection may take.
 *
 * @module
 */

import {
  metricsSettings,
  publicPortSettings,
} from "../../shared/http1/settings.ts";
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
    default: 8000,
    group: GROUP,
    help: "Port to listen on.",
  }),
  ...metricsSettings(9092),
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
  maxBodiesBytes: integerSetting({
    name: "MAX_BODIES_BYTES",
    default: 134_217_728,
    min: 4_194_304,
    group: GROUP,
    help: "Bytes that the bodies of all requests together may hold while " +
      "they arrive; beyond it 503.",
  }),
  maxAnswerBytes: integerSetting({
    name: "MAX_ANSWER_BYTES",
    default: 1_048_576,
    min: 1_024,
    group: GROUP,
    help:
      "Bytes of memories that a recall reads and answers with, but always " +
      "one memory; the ids of the others are named in omitted_ids.",
  }),
  shutdownGraceMs: durationSetting({
    name: "SHUTDOWN_GRACE",
    default: "20s",
    min: "0s",
    group: GROUP,
    help: "Time that requests and jobs have to end when the service stops; " +
      "jobs that take longer go on at the next start.",
  }),
};
