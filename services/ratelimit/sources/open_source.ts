/**
 * Makes the source of configuration that the settings name.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { GrpcChannel, GrpcMetadata } from "../../shared/grpc/channel.ts";
import type { GrpcClientTls } from "../../shared/grpc/client_socket.ts";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { ChangeReports } from "../../shared/watch/change_reports.ts";
import { readTlsFiles } from "../counters/store_tls.ts";
import { discoveryTlsSettings } from "../discovery_settings.ts";
import { parseGrpcTarget } from "../grpc_target.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { ConfigLoader } from "./config_loader.ts";
import { DiscoverySource } from "./discovery_source.ts";
import { FileSource } from "./files.ts";

/** Delivers configuration to the loader from its start to its stop. */
interface ConfigSource {
  /** Begins to deliver; what is not available yet is delivered later. */
  start(): Promise<void>;
  /** Delivers again, even what has not changed. */
  reload(): void | Promise<void>;
  /** Ends all deliveries. */
  stop(): Promise<void>;
}

/** The parts that a source needs. */
interface OpenSourceOptions {
  /** Takes the configurations that are delivered. */
  readonly loader: ConfigLoader;
  /** Lets decisions run in between. */
  readonly pausing: Pausing;
  /** Reports changes of files. */
  readonly reports: ChangeReports;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets log lines about what is not available. */
  readonly logger: Logger;
}

/** Makes the source that `CONFIG_TYPE` names. */
export function openSource(
  settings: RateLimitSettings,
  options: OpenSourceOptions,
): ConfigSource {
  return settings.configType === "discovery"
    ? discoverySource(settings, options)
    : fileSource(settings, options);
}

function fileSource(
  settings: RateLimitSettings,
  options: OpenSourceOptions,
): ConfigSource {
  const { loader, ...rest } = options;
  return new FileSource({
    ...rest,
    root: settings.runtimeRoot,
    subdirectory: settings.runtimeSubdirectory,
    appDirectory: settings.runtimeAppDirectory,
    ignoreDotFiles: settings.runtimeIgnoreDotFiles,
    watchRoot: settings.runtimeWatchRoot,
    whenMissing:
      "RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY " +
      "say where it is",
    onFiles: async (outcome) => (await loader.take(outcome)).kind === "adopted",
  });
}

function discoverySource(
  settings: RateLimitSettings,
  { loader, clock, logger }: OpenSourceOptions,
): ConfigSource {
  return new DiscoverySource({
    server: settings.discoveryServer,
    connect: () => connect(settings, clock),
    node: {
      id: settings.discoveryNodeId,
      metadata: Object.fromEntries(settings.discoveryNodeMetadata),
    },
    maxMessageBytes: settings.discoveryMaxMessageBytes,
    metadata: toMetadata(settings.discoveryHeaders),
    backoff: {
      firstMs: settings.discoveryConnectRetryMs,
      initialMs: settings.discoveryBackoffInitialMs,
      maxMs: settings.discoveryBackoffMaxMs,
      growth: settings.discoveryBackoffFactor,
      jitter: settings.discoveryBackoffJitter,
    },
    loader,
    clock,
    logger,
  });
}

async function connect(
  settings: RateLimitSettings,
  clock: Clock,
): Promise<GrpcChannel> {
  // Loaded here, as the service starts without waiting for it.
  const { H2GrpcChannel } = await import("../../shared/grpc/h2_channel.ts");
  const { discoveryServer: server } = settings;
  const target = parseGrpcTarget(server);
  if (target === undefined) {
    throw new TypeError(`Cannot connect: ${quote(server)} is not an address`);
  }
  const maxReceiveBytes = settings.discoveryMaxMessageBytes;
  return new H2GrpcChannel({
    target: target.kind === "tcp"
      ? { ...target, tls: await discoveryTls(settings) }
      : target,
    maxReceiveBytes,
    clock,
  });
}

/** Returns what is wrong with the settings of the source, one line each. */
export async function sourceFaults(
  settings: RateLimitSettings,
  readText: (path: string) => Promise<string>,
): Promise<readonly string[]> {
  if (settings.configType !== "discovery" || !settings.discoveryUseTls) {
    return [];
  }
  const files = await discoveryTlsFiles(settings, readText);
  return files.kind === "invalid" ? files.problems.map(notConnected) : [];
}

function notConnected(problem: string): string {
  return `Cannot connect to the discovery server: ${problem}`;
}

function discoveryTlsFiles(
  settings: RateLimitSettings,
  readText: (path: string) => Promise<string>,
): ReturnType<typeof readTlsFiles> {
  return readTlsFiles({
    ca: settings.discoveryTlsCaCert,
    cert: settings.discoveryTlsClientCert,
    key: settings.discoveryTlsClientKey,
    skipHostnameVerification: false,
    names: {
      ca: discoveryTlsSettings.discoveryTlsCaCert.name,
      cert: discoveryTlsSettings.discoveryTlsClientCert.name,
      key: discoveryTlsSettings.discoveryTlsClientKey.name,
    },
  }, readText);
}

/**
 * Returns the TLS settings of the connection; undefined when it is not
 * encrypted.
 */
async function discoveryTls(
  settings: RateLimitSettings,
): Promise<GrpcClientTls | undefined> {
  if (!settings.discoveryUseTls) return undefined;
  const files = await discoveryTlsFiles(settings, Deno.readTextFile);
  if (files.kind === "invalid") {
    throw new Error(notConnected(files.problems.join("; ")));
  }
  const { discoveryTlsSan: san } = settings;
  return san === "" ? files.tls : { ...files.tls, serverName: san };
}

/**
 * Returns headers as metadata; values of one name are joined by commas (RFC
 * 9110).
 */
function toMetadata(
  headers: readonly (readonly [string, string])[],
): GrpcMetadata {
  const metadata: Record<string, string> = {};
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    const before = metadata[name];
    metadata[name] = before === undefined ? value : `${before},${value}`;
  }
  return metadata;
}
