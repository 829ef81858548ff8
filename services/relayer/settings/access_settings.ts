/**
 * Who may call, and how often.
 *
 * @module
 */

import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  secretSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Access";

/** The settings of this group, by the name the service knows them under. */
export const accessSettings = {
  ledgerRpcUrl: textSetting({
    name: "LEDGER_RPC_URL",
    default: "",
    group: GROUP,
    help: "Full node that accounts are read from over JSON-RPC. Accounts are " +
      "kept in the data folder when empty.",
  }),
  ledgerPackageId: textSetting({
    name: "LEDGER_PACKAGE_ID",
    default: "",
    group: GROUP,
    help: "The package whose accounts count; needed with LEDGER_RPC_URL.",
  }),
  ledgerRegistryId: textSetting({
    name: "LEDGER_REGISTRY_ID",
    default: "",
    group: GROUP,
    help:
      "The object that lists the accounts by owner; without it whether an " +
      "owner has one cannot be asked of the full node.",
  }),
  ledgerNetwork: choiceSetting({
    name: "LEDGER_NETWORK",
    values: {
      localnet: "localnet",
      devnet: "devnet",
      testnet: "testnet",
      mainnet: "mainnet",
    },
    default: "localnet",
    group: GROUP,
    help: "What /config says the network is.",
  }),
  authWindowMs: durationSetting({
    name: "AUTH_WINDOW",
    default: "300s",
    min: "1s",
    max: "600s",
    group: GROUP,
    help: "How far the clock of a client may be off.",
  }),
  legacyAuth: booleanSetting({
    name: "LEGACY_AUTH",
    default: false,
    group: GROUP,
    help: "Whether requests of the oldest released SDK are taken, which are " +
      "signed without nonce and account.",
  }),
  serviceCredential: secretSetting({
    name: "SERVICE_CREDENTIAL",
    default: "",
    group: GROUP,
    help: "What POST /v1/owner-tokens asks for; there are no owner tokens " +
      "when empty.",
  }),
  rateLimitDisabled: booleanSetting({
    name: "RATE_LIMIT_DISABLED",
    default: false,
    group: GROUP,
    help: "Whether callers may call as often as they like.",
  }),
  ratePerKeyMinute: integerSetting({
    name: "RATE_PER_KEY_MINUTE",
    default: 30,
    min: 1,
    group: GROUP,
    help:
      "Points a minute of a delegate key; a remember costs 5, most reads 1.",
  }),
  ratePerAccountMinute: integerSetting({
    name: "RATE_PER_ACCOUNT_MINUTE",
    default: 60,
    min: 1,
    group: GROUP,
    help: "Points a minute of an account.",
  }),
  ratePerAccountHour: integerSetting({
    name: "RATE_PER_ACCOUNT_HOUR",
    default: 500,
    min: 1,
    group: GROUP,
    help: "Points an hour of an account.",
  }),
  pointBytes: integerSetting({
    name: "RATE_POINT_BYTES",
    default: 262_144,
    min: 0,
    group: GROUP,
    help: "Bytes of bodies, blobs and answers that cost one more point; 0 " +
      "when they cost none.",
  }),
};
