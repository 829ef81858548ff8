/**
 * All settings of the key server, with their defaults and help texts; they come
 * from environment variables.
 *
 * @module
 */

import {
  metricsSettings,
  publicPortSettings,
} from "../shared/http1/settings.ts";
import { logSettings } from "../shared/logger.ts";
import {
  choiceOption,
  durationOption,
  inGroup,
  integerOption,
  listOption,
  type OptionValues,
  portOption,
  textOption,
} from "../shared/options.ts";
import { tracingSettings } from "../shared/telemetry/tracing_settings.ts";

/** The settings, by the name the service knows them under. */
export const keyServerSettings = {
  ...publicPortSettings,
  ...logSettings,
  port: portOption({
    name: "PORT",
    default: 8100,
    group: "Listener",
    help: "Port to listen on.",
  }),
  ...metricsSettings(9093),
  ...tracingSettings({ serviceName: "keyserver" }),
  ...inGroup("Listener", {
    trustedProxies: listOption({
      name: "TRUSTED_PROXIES",
      default: [],
      help: "Addresses or networks of proxies whose X-Forwarded-For counts.",
    }),
    maxBodiesBytes: integerOption({
      name: "MAX_BODIES_BYTES",
      default: 16_777_216,
      min: 131_072,
      help: "Bytes that the bodies of all requests together may hold while " +
        "they arrive; beyond it 503.",
    }),
    shutdownGraceMs: durationOption({
      name: "SHUTDOWN_GRACE",
      default: "10s",
      min: "0s",
      help: "Time that requests have to end when the service stops.",
    }),
  }),
  ...inGroup("Keys", {
    dataDir: textOption({
      name: "DATA_DIR",
      default: "keyserver-data",
      help: "Folder of the sealed secret and of what was seen of accounts.",
    }),
    masterKeys: textOption({
      secret: true,
      name: "MASTER_KEYS",
      default: "",
      help: "Keys that seal the secret, each base64 of 32 bytes or " +
        "<id>:<base64>, several with commas, the current one first. When empty, " +
        "a key is made in the data folder.",
    }),
    objectId: textOption({
      name: "KEY_SERVER_ID",
      default: "",
      help: "The key server's object on a public ledger. On an embedded " +
        "ledger, and when empty, it follows from the public key.",
    }),
  }),
  ...inGroup("Access", {
    ledgerRpcUrl: textOption({
      name: "LEDGER_RPC_URL",
      default: "http://127.0.0.1:8000/rpc",
      help: "Where accounts are read over JSON-RPC.",
    }),
    ledgerMode: choiceOption({
      name: "LEDGER_MODE",
      values: { signed: "signed", fullnode: "fullnode" },
      default: "signed",
      help: "signed replays the owner's signed transactions of an embedded " +
        "ledger and trusts nothing else; fullnode has a full node of a public " +
        "ledger try the approving transaction, and trusts its word.",
    }),
    ledgerPackageId: textOption({
      name: "LEDGER_PACKAGE_ID",
      default: "",
      help: "The package whose keys are given. That of embedded ledgers when " +
        "empty; needed with LEDGER_MODE=fullnode.",
    }),
    userPerMinute: integerOption({
      name: "RATE_PER_USER_MINUTE",
      default: 120,
      min: 1,
      help:
        "Keys a minute that one address on the ledger may ask for, and as " +
        "many at once.",
    }),
    peerPerMinute: integerOption({
      name: "RATE_PER_PEER_MINUTE",
      default: 600,
      min: 1,
      help: "Keys a minute that one IP address may ask for, and as many at " +
        "once; an IPv6 address counts as its /64.",
    }),
  }),
};

/** The values of {@linkcode keyServerSettings}. */
export type KeyServerSettings = OptionValues<typeof keyServerSettings>;
