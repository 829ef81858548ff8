/**
 * TLS of the gRPC listener: checks its settings and opens its files.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { GrpcServerTls } from "../shared/grpc/tls_handshakes.ts";
import type { Logger } from "../shared/logger.ts";
import {
  certificateFaults,
  CertificateFiles,
} from "../shared/tls/certificate_files.ts";
import type { ChangeReports } from "../shared/watch/change_reports.ts";
import { grpcTlsSettings } from "./grpc_tls_settings.ts";
import type { RateLimitSettings } from "./settings.ts";

/** TLS of the listener, which lives as long as the service. */
export interface GrpcTls {
  /** The certificate files, a part of the service. */
  readonly files: CertificateFiles;
  /** The TLS options of the listener. */
  readonly server: GrpcServerTls;
}

/** TLS, undefined when it is off; or why the settings don't go together. */
type GrpcTlsOutcome =
  | { readonly kind: "opened"; readonly tls: GrpcTls | undefined }
  | { readonly kind: "invalid"; readonly problem: string };

/** Returns what is wrong with the settings of TLS, one line each. */
export async function grpcTlsFaults(
  settings: RateLimitSettings,
): Promise<readonly string[]> {
  if (!settings.grpcTls) return [];
  const { grpcTlsCert: cert, grpcTlsKey: key } = settings;
  const { grpcTlsClientCa: clientCa, grpcTlsClientName: clientName } = settings;
  const missing = [
    ...(cert === "" ? [grpcTlsSettings.grpcTlsCert.name] : []),
    ...(key === "" ? [grpcTlsSettings.grpcTlsKey.name] : []),
    // Without the authorities, any certificate could claim the name.
    ...(clientName !== "" && clientCa === ""
      ? [grpcTlsSettings.grpcTlsClientCa.name]
      : []),
  ];
  const faults = await certificateFaults({ cert, key, clientCa }, {
    cert: grpcTlsSettings.grpcTlsCert.name,
    key: grpcTlsSettings.grpcTlsKey.name,
    clientCa: grpcTlsSettings.grpcTlsClientCa.name,
  });
  return [
    ...(missing.length > 0
      ? [`${missing.join(" and ")} must name a file`]
      : []),
    ...faults,
  ].map(cannotSpeak);
}

/** Reads the certificate, when the listener is set to use TLS. */
export async function openGrpcTls(
  settings: RateLimitSettings,
  tools: {
    readonly reports: ChangeReports;
    readonly logger: Logger;
    readonly clock: Clock;
  },
): Promise<GrpcTlsOutcome> {
  if (!settings.grpcTls) return { kind: "opened", tls: undefined };
  const { grpcTlsCert: cert, grpcTlsKey: key } = settings;
  const { grpcTlsClientCa: clientCa, grpcTlsClientName: clientName } = settings;
  const outcome = await CertificateFiles.open({
    paths: { cert, key, clientCa: clientCa === "" ? undefined : clientCa },
    ...tools,
  });
  if (outcome.kind === "invalid") {
    return { kind: "invalid", problem: cannotSpeak(outcome.problem) };
  }
  const { files } = outcome;
  return {
    kind: "opened",
    tls: {
      files,
      server: {
        current: () => files.current,
        clientName: clientName === "" ? undefined : clientName,
      },
    },
  };
}

function cannotSpeak(state: string): string {
  return `Cannot speak TLS on the gRPC listener: ${state}`;
}
