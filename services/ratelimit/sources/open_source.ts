/**
 * Where configuration comes from, by the settings.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { GrpcChannel, GrpcMetadata } from "../../shared/grpc/channel.ts";
import type { GrpcClientTls } from "../../shared/grpc/client_socket.ts";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";
import type { Pausing } from "../../shared/slices.ts";
import { readTlsFiles } from "../counters/store_tls.ts";
import { discoveryTlsSettings } from "../discovery_settings.ts";
import { parseGrpcTarget } from "../grpc_target.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { ConfigLoader } from "./config_loader.ts";
import { DiscoverySource } from "./discovery_source.ts";
import { FileSource } from "./files.ts";

/** Delivers configuration to the loader from its start to its stop. */
interface ConfigSource {
  /** Begins to deliver. What can't be had yet comes later. */
  start(): Promise<void>;
  /** Delivers even what has not changed. */
  reload(): void | Promise<void>;
  /** Delivers no more. */
  stop(): Promise<void>;
}

/** What a source is made of. */
interface OpenSourceOptions {
  /** Takes what is delivered. */
  readonly loader: ConfigLoader;
  /** Gives way to decisions. */
  readonly pausing: Pausing;
  /** Time. */
  readonly clock: Clock;
  /** Hears of what can't be had. */
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
    metadata: metadataOf(settings.discoveryHeaders),
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
  // The service starts without it.
  const { H2GrpcChannel } = await import("../../shared/grpc/h2_channel.ts");
  const { discoveryServer: server } = settings;
  const target = parseGrpcTarget(server);
  if (target === undefined) {
    throw new TypeError(`Cannot connect: ${quote(server)} is no address`);
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

/** What is wrong with the settings of the source, a line each. */
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

/** How the connection is encrypted; undefined when it is not. */
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

/** Headers as metadata; values of one name stand between commas (RFC 9110). */
function metadataOf(
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
