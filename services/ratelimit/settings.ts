/**
 * All settings of the rate limit service; their values come from environment
 * variables.
 *
 * @module
 */

import {
  booleanOption,
  choiceOption,
  durationOption,
  integerOption,
  numberOption,
  type Option,
  type OptionValues,
  portOption,
  textOption,
} from "../shared/options.ts";
import { configTypeSetting, discoverySettings } from "./discovery_settings.ts";
import { grpcTlsSettings } from "./grpc_tls_settings.ts";
import { tracingSettings } from "../shared/telemetry/tracing_settings.ts";
import { candidateSettings } from "./candidate_settings.ts";
import { replacedSettings } from "./replaced_settings.ts";
import {
  altcacheSettings,
  kvstoreSettings,
  perSecondSettings,
  storeSettings,
} from "./store_settings.ts";
import { statisticsSettings } from "./statistics_settings.ts";

const LISTENERS = "Listeners";
const CONFIGURATION = "Configuration";
const DECISIONS = "Decisions";
const LOGS = "Logs";

/** The value of `WORKERS=auto`. */
export const AS_MANY_AS_CORES = 0;

function workersOption(): Option<number> {
  const number = integerOption({
    name: "WORKERS",
    default: 1,
    min: 1,
    max: 64,
    group: LISTENERS,
    help: "Serving threads, on the same ports and with the same counters; " +
      "auto means one for each core.",
  });
  return {
    ...number,
    expected: `auto, or ${number.expected}`,
    parse: (text) => text === "auto" ? AS_MANY_AS_CORES : number.parse(text),
  };
}

/** The settings, by the name the service knows them under. */
export const rateLimitSettings = {
  host: textOption({
    name: "HOST",
    default: "0.0.0.0",
    group: LISTENERS,
    help: "Address of the HTTP listener.",
  }),
  port: portOption({
    name: "PORT",
    default: 8080,
    group: LISTENERS,
    help: "Port of the HTTP listener.",
  }),
  grpcHost: textOption({
    name: "GRPC_HOST",
    default: "0.0.0.0",
    group: LISTENERS,
    help: "Address of the gRPC listener.",
  }),
  grpcPort: portOption({
    name: "GRPC_PORT",
    default: 8081,
    group: LISTENERS,
    help: "Port of the gRPC listener.",
  }),
  grpcUds: textOption({
    name: "GRPC_UDS",
    default: "",
    group: LISTENERS,
    help: "Path of a unix socket for gRPC, in place of address and port.",
  }),
  grpcUdsMode: choiceOption({
    name: "GRPC_UDS_MODE",
    values: { "0600": "0600", "0660": "0660", "0666": "0666" },
    default: "0660",
    group: LISTENERS,
    help: "Permissions of the unix socket: its owner, also its group, or " +
      "every user of the machine may connect.",
  }),
  grpcMaxConnectionAgeMs: durationOption({
    name: "GRPC_MAX_CONNECTION_AGE",
    default: "24h",
    min: "1s",
    group: LISTENERS,
    help: "Age at which the service closes a gRPC connection, with a random " +
      "variation of a tenth.",
  }),
  grpcMaxConnectionAgeGraceMs: durationOption({
    name: "GRPC_MAX_CONNECTION_AGE_GRACE",
    default: "1h",
    min: "0s",
    group: LISTENERS,
    help: "How long calls may keep a connection past its age.",
  }),
  grpcReflection: booleanOption({
    name: "GRPC_REFLECTION",
    default: true,
    group: LISTENERS,
    help: "Describe methods and messages to tools such as grpcurl.",
  }),
  ...grpcTlsSettings,
  workers: workersOption(),
  reusePort: booleanOption({
    name: "REUSE_PORT",
    default: false,
    group: LISTENERS,
    help:
      "Let another process with this setting listen on the same ports, so " +
      "that a new version starts before the old one stops.",
  }),
  debugHost: textOption({
    name: "DEBUG_HOST",
    default: "0.0.0.0",
    group: LISTENERS,
    help: "Address of the debug listener; 127.0.0.1 keeps it to this machine.",
  }),
  debugPort: portOption({
    name: "DEBUG_PORT",
    default: 6070,
    group: LISTENERS,
    help: "Port of the debug listener.",
  }),
  debugAllowRemote: booleanOption({
    name: "DEBUG_ALLOW_REMOTE",
    default: false,
    group: LISTENERS,
    help: "Let clients on other machines use the debug listener.",
  }),
  console: booleanOption({
    name: "CONSOLE",
    default: true,
    group: LISTENERS,
    help: "Show the console for browsers at /console of the debug listener.",
  }),
  maxRequestBytes: integerOption({
    name: "MAX_REQUEST_BYTES",
    default: 4_194_304,
    min: 1_024,
    max: 268_435_456,
    group: LISTENERS,
    help: "Largest request, over gRPC and HTTP.",
  }),
  maxHeaderBytes: integerOption({
    name: "MAX_HEADER_BYTES",
    default: 16_384,
    min: 4_096,
    max: 262_144,
    group: LISTENERS,
    help:
      "Largest headers of a request: over gRPC all metadata, with 32 bytes " +
      "more for each field, over HTTP the head. Only the call that has more " +
      "is refused, with RESOURCE_EXHAUSTED or 431.",
  }),
  maxUnfinishedBytes: integerOption({
    name: "MAX_UNFINISHED_BYTES",
    default: 67_108_864,
    min: 1_048_576,
    max: 17_179_869_184,
    group: LISTENERS,
    help: "Memory for incomplete requests of all gRPC callers together, and " +
      "as much for HTTP. A gRPC connection gets at most an eighth, or one " +
      "request.",
  }),
  maxDescriptors: integerOption({
    name: "MAX_DESCRIPTORS",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    group: LISTENERS,
    help: "Most descriptors of one request.",
  }),
  shutdownGraceMs: durationOption({
    name: "SHUTDOWN_GRACE",
    default: "30s",
    min: "0s",
    group: LISTENERS,
    help: "Time limit for running calls after SIGTERM or SIGINT.",
  }),
  shutdownDrainDelayMs: durationOption({
    name: "SHUTDOWN_DRAIN_DELAY",
    default: "0s",
    min: "0s",
    group: LISTENERS,
    help: "How long to continue serving with failing health before the stop.",
  }),
  configType: configTypeSetting,
  runtimeRoot: textOption({
    name: "RUNTIME_ROOT",
    default: "/srv/runtime_data/current",
    group: CONFIGURATION,
    help: "Root of the configuration files.",
  }),
  runtimeSubdirectory: textOption({
    name: "RUNTIME_SUBDIRECTORY",
    default: "",
    group: CONFIGURATION,
    help: "Directory below the root.",
  }),
  runtimeAppDirectory: textOption({
    name: "RUNTIME_APPDIRECTORY",
    default: "config",
    group: CONFIGURATION,
    help: "Directory below that one; its *.yaml files are read.",
  }),
  runtimeIgnoreDotFiles: booleanOption({
    name: "RUNTIME_IGNOREDOTFILES",
    default: false,
    group: CONFIGURATION,
    help: "Skip files whose name begins with a dot.",
  }),
  runtimeWatchRoot: booleanOption({
    name: "RUNTIME_WATCH_ROOT",
    default: true,
    group: CONFIGURATION,
    help: "Reload when the root, a symbolic link, is swapped; false reloads " +
      "when the files themselves change.",
  }),
  mergeDomainConfig: booleanOption({
    name: "MERGE_DOMAIN_CONFIG",
    default: false,
    group: CONFIGURATION,
    help: "Several files may have rules of one domain.",
  }),
  forceStart: booleanOption({
    name: "FORCE_START_WITHOUT_INITIAL_CONFIG",
    default: false,
    group: CONFIGURATION,
    help: "Open gRPC and HTTP immediately, not with the first valid " +
      "configuration.",
  }),
  healthyWithConfig: booleanOption({
    name: "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED",
    default: false,
    group: CONFIGURATION,
    help: "Unhealthy while no domain is configured.",
  }),
  ...discoverySettings,
  shadowMode: booleanOption({
    name: "SHADOW_MODE",
    default: false,
    group: DECISIONS,
    help: "Answer every request with OK; statuses and statistics still show " +
      "exceeded limits.",
  }),
  quotaMode: booleanOption({
    name: "QUOTA_MODE",
    default: false,
    group: DECISIONS,
    help: "Refuse only when all descriptors of a request are over their limit.",
  }),
  nearLimitRatio: numberOption({
    name: "NEAR_LIMIT_RATIO",
    default: 0.8,
    min: 0,
    max: 1,
    group: DECISIONS,
    help: "Share of a limit above which hits count as near it.",
  }),
  headersEnabled: booleanOption({
    name: "LIMIT_RESPONSE_HEADERS_ENABLED",
    default: false,
    group: DECISIONS,
    help: "Add headers with the limit to answers.",
  }),
  limitHeader: textOption({
    name: "LIMIT_LIMIT_HEADER",
    default: "RateLimit-Limit",
    group: DECISIONS,
    help: "Header for the limit.",
  }),
  remainingHeader: textOption({
    name: "LIMIT_REMAINING_HEADER",
    default: "RateLimit-Remaining",
    group: DECISIONS,
    help: "Header for the remaining requests.",
  }),
  resetHeader: textOption({
    name: "LIMIT_RESET_HEADER",
    default: "RateLimit-Reset",
    group: DECISIONS,
    help: "Header for the seconds until the limit resets, see Rules.",
  }),
  dynamicMetadata: booleanOption({
    name: "RESPONSE_DYNAMIC_METADATA",
    default: false,
    group: DECISIONS,
    help: "Add the request and the metadata of rules that passed to answers.",
  }),
  ...candidateSettings,
  ...storeSettings,
  ...kvstoreSettings,
  ...perSecondSettings,
  ...altcacheSettings,
  ...replacedSettings,
  ...tracingSettings({ serviceName: "RateLimit" }),
  logLevel: choiceOption({
    name: "LOG_LEVEL",
    values: {
      trace: "debug",
      debug: "debug",
      info: "info",
      warn: "warning",
      warning: "warning",
      error: "error",
      fatal: "error",
      panic: "error",
    },
    ignoreCase: true,
    default: "warning",
    group: LOGS,
    help: "Lowest level that is logged; with warn the info lines with the " +
      "addresses of the listeners are logged too.",
  }),
  logFormat: choiceOption({
    name: "LOG_FORMAT",
    values: { text: "text", json: "json" },
    ignoreCase: true,
    default: "text",
    group: LOGS,
    help: "Format of log lines.",
  }),
  ...statisticsSettings,
} as const;

/** The values of {@linkcode rateLimitSettings}. */
export type RateLimitSettings = OptionValues<typeof rateLimitSettings>;
