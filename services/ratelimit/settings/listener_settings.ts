/**
 * Where the service listens, what it takes and how it stops.
 *
 * @module
 */

import {
  durationSetting,
  integerSetting,
  portSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Listeners";

/** The settings of this group, by the name the service knows them under. */
export const listenerSettings = {
  host: textSetting({
    name: "HOST",
    default: "0.0.0.0",
    group: GROUP,
    help: "Address of the HTTP listener.",
  }),
  port: portSetting({
    name: "PORT",
    default: 8080,
    group: GROUP,
    help: "Port of the HTTP listener.",
  }),
  grpcHost: textSetting({
    name: "GRPC_HOST",
    default: "0.0.0.0",
    group: GROUP,
    help: "Address of the gRPC listener.",
  }),
  grpcPort: portSetting({
    name: "GRPC_PORT",
    default: 8081,
    group: GROUP,
    help: "Port of the gRPC listener.",
  }),
  grpcUds: textSetting({
    name: "GRPC_UDS",
    default: "",
    group: GROUP,
    help: "Path of a unix socket for gRPC, in place of address and port.",
  }),
  grpcMaxConnectionAgeMs: durationSetting({
    name: "GRPC_MAX_CONNECTION_AGE",
    default: "24h",
    min: "1s",
    group: GROUP,
    help: "Age at which a gRPC connection is asked to close, give or take a " +
      "tenth.",
  }),
  grpcMaxConnectionAgeGraceMs: durationSetting({
    name: "GRPC_MAX_CONNECTION_AGE_GRACE",
    default: "1h",
    min: "0s",
    group: GROUP,
    help: "How long calls may keep a connection past its age.",
  }),
  debugHost: textSetting({
    name: "DEBUG_HOST",
    default: "0.0.0.0",
    group: GROUP,
    help: "Address of the debug listener; 127.0.0.1 keeps it to this machine.",
  }),
  debugPort: portSetting({
    name: "DEBUG_PORT",
    default: 6070,
    group: GROUP,
    help: "Port of the debug listener.",
  }),
  maxRequestBytes: integerSetting({
    name: "MAX_REQUEST_BYTES",
    default: 4_194_304,
    min: 1_024,
    max: 268_435_456,
    group: GROUP,
    help: "Largest request, over gRPC and HTTP.",
  }),
  maxDescriptors: integerSetting({
    name: "MAX_DESCRIPTORS",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    group: GROUP,
    help: "Most descriptors of one request.",
  }),
  shutdownGraceMs: durationSetting({
    name: "SHUTDOWN_GRACE",
    default: "30s",
    min: "0s",
    group: GROUP,
    help: "How long running calls may take after SIGTERM or SIGINT.",
  }),
  shutdownDrainDelayMs: durationSetting({
    name: "SHUTDOWN_DRAIN_DELAY",
    default: "0s",
    min: "0s",
    group: GROUP,
    help: "How long to go on serving with failing health before the stop.",
  }),
} as const;
