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
      help: "Addresses or networks of proxies whose X-Forwarded-For is " +
        "trusted.",
    }),
    maxBodiesBytes: integerOption({
      name: "MAX_BODIES_BYTES",
      default: 16_777_216,
      min: 131_072,
      help: "Bytes that the bodies of all requests together may take while " +
        "they arrive; more get 503.",
    }),
    shutdownGraceMs: durationOption({
      name: "SHUTDOWN_GRACE",
      default: "10s",
      min: "0s",
      help: "Time for requests to end when the service stops.",
    }),
  }),
  ...inGroup("Keys", {
    dataDir: textOption({
      name: "DATA_DIR",
      default: "keyserver-data",
      help: "Folder of the sealed secret and of the replayed accounts.",
    }),
    masterKeys: textOption({
      secret: true,
      name: "MASTER_KEYS",
      default: "",
      help: "Keys that seal the secret, each base64 of 32 bytes or " +
        "<id>:<base64>, several with commas, the current one first. When " +
        "empty, a key is created in the data folder.",
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
      help: "Address of the accounts' JSON-RPC.",
    }),
    ledgerMode: choiceOption({
      name: "LEDGER_MODE",
      values: { signed: "signed", fullnode: "fullnode" },
      default: "signed",
      help: "signed replays the owner's signed transactions of an embedded " +
        "ledger and trusts nothing else. fullnode lets a full node of a " +
        "public ledger evaluate the approving transaction, and trusts its " +
        "result.",
    }),
    ledgerPackageId: textOption({
      name: "LEDGER_PACKAGE_ID",
      default: "",
      help: "The package of the accounts. When empty, that of embedded " +
        "ledgers; required with LEDGER_MODE=fullnode.",
    }),
    userPerMinute: integerOption({
      name: "RATE_PER_USER_MINUTE",
      default: 120,
      min: 1,
      help:
        "Keys a minute that one address on the ledger may request, and as " +
        "many in a burst.",
    }),
    peerPerMinute: integerOption({
      name: "RATE_PER_PEER_MINUTE",
      default: 600,
      min: 1,
      help: "Keys a minute that one IP address may request, and as many in a " +
        "burst; an IPv6 address counts as its /64.",
    }),
  }),
};

/** The values of {@linkcode keyServerSettings}. */
export type KeyServerSettings = OptionValues<typeof keyServerSettings>;
