/**
 * Settings of deployments that this version can't honour.
 *
 * @module
 */

import type { AbsentPart, UnavailableSetting } from "../../shared/settings.ts";

const OFF = ["false", "0", "f", "0s"];

/**
 * Settings that deployments of envoyproxy/ratelimit carry and that this
 * version can't honour. Where to go on without would weaken what the operator
 * relies on, the start is refused.
 */
export const unavailableSettings: readonly UnavailableSetting[] = [
  {
    name: "CONFIG_TYPE",
    why: "this version reads its configuration from files (FILE) only",
    severity: "refuse",
    neutralValues: ["FILE"],
  },
  {
    name: "GRPC_SERVER_USE_TLS",
    why: "this version has no TLS on the gRPC port",
    severity: "refuse",
    neutralValues: OFF,
  },
  {
    name: "USE_TAGGED_STATSD",
    aliases: ["USE_DOG_STATSD"],
    why: "this version speaks plain statsd only",
    severity: "warn",
    neutralValues: OFF,
  },
  {
    name: "USE_PULLMETRICS",
    aliases: ["USE_PROMETHEUS"],
    why: "this version has no endpoint for pull metrics; see /stats on the " +
      "debug port",
    severity: "warn",
    neutralValues: OFF,
  },
  {
    name: "TRACING_ENABLED",
    why: "this version emits no traces",
    severity: "warn",
    neutralValues: OFF,
  },
];

/** The parts that those settings turn on, with settings of their own. */
export const absentParts: readonly AbsentPart[] = [
  {
    prefixes: ["CONFIG_GRPC_XDS_", "XDS_CLIENT_"],
    why: "this version reads its configuration from files only",
  },
  {
    prefixes: ["GRPC_SERVER_TLS_", "GRPC_CLIENT_TLS_"],
    why: "this version has no TLS on the gRPC port",
  },
  {
    prefixes: [
      "TAGGED_STATSD_",
      "USE_TAGGED_STATSD_",
      "DOG_STATSD_",
      "USE_DOG_STATSD_",
    ],
    why: "this version speaks plain statsd only",
  },
  {
    prefixes: ["PULLMETRICS_", "PROMETHEUS_"],
    why: "this version has no endpoint for pull metrics",
  },
  { prefixes: ["TRACING_"], why: "this version emits no traces" },
];
