/**
 * The settings of TLS on the gRPC port.
 *
 * @module
 */

import { booleanOption, textOption } from "../shared/options.ts";

const TLS = "TLS of the gRPC listener";

/** Certificate and key of the listener, and what it requires of its clients. */
export const grpcTlsSettings = {
  grpcTls: booleanOption({
    name: "GRPC_SERVER_USE_TLS",
    default: false,
    group: TLS,
    help: "Speak only TLS on the gRPC listener. Clients must offer h2 (ALPN).",
  }),
  grpcTlsCert: textOption({
    name: "GRPC_SERVER_TLS_CERT",
    default: "",
    group: TLS,
    help: "File with the certificate chain as PEM. The files are reloaded " +
      "when they change, and new ones apply to later connections.",
  }),
  grpcTlsKey: textOption({
    name: "GRPC_SERVER_TLS_KEY",
    default: "",
    group: TLS,
    help: "File with the private key of the certificate as PEM.",
  }),
  grpcTlsClientCa: textOption({
    name: "GRPC_CLIENT_TLS_CACERT",
    default: "",
    group: TLS,
    help: "File with the authorities that sign the certificates of clients, " +
      "as PEM; with it clients without a certificate are refused.",
  }),
  grpcTlsClientName: textOption({
    name: "GRPC_CLIENT_TLS_SAN",
    default: "",
    group: TLS,
    help: "Required DNS name of a client's certificate.",
  }),
} as const;
