/**
 * Settings for rules that come from a discovery server (xDS).
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
  pairsOption,
  textOption,
} from "../shared/options.ts";
import { GRPC_TARGET_FORMS, parseGrpcTarget } from "./grpc_target.ts";

const DISCOVERY = "Configuration from a discovery server";

/** The setting of where rules come from. */
export const configTypeSetting: Option<"file" | "discovery"> = choiceOption({
  name: "CONFIG_TYPE",
  values: { FILE: "file", GRPC_XDS_SOTW: "discovery" },
  ignoreCase: true,
  default: "file",
  group: "Configuration",
  help: "Where rules come from: files, or a discovery server (xDS, state of " +
    "the world).",
});

/**
 * Settings of the server's address, of its messages, and of what it is told.
 */
const serverSettings = {
  discoveryServer: targetOption({
    name: "CONFIG_GRPC_XDS_SERVER_URL",
    default: "localhost:18000",
    group: DISCOVERY,
    help: "The server.",
  }),
  discoveryHeaders: headersOption({
    name: "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS",
    default: [],
    secret: true,
    group: DISCOVERY,
    help: "Headers of every stream.",
  }),
  discoveryMaxMessageBytes: integerOption({
    name: "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES",
    default: 4_194_304,
    min: 1_024,
    max: 268_435_456,
    group: DISCOVERY,
    help: "Largest response; larger ones are not loaded.",
  }),
  discoveryNodeId: textOption({
    name: "CONFIG_GRPC_XDS_NODE_ID",
    default: "default",
    group: DISCOVERY,
    help: "Name of this node to the server, which may choose rules by it.",
  }),
  discoveryNodeMetadata: pairsOption({
    name: "CONFIG_GRPC_XDS_NODE_METADATA",
    separator: "=",
    default: [],
    group: DISCOVERY,
    help: "Further data by which the server may choose rules.",
  }),
} as const;

/** Settings of the waits before the server is called again. */
const waitSettings = {
  discoveryConnectRetryMs: durationOption({
    name: "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL",
    default: "3s",
    min: "10ms",
    group: DISCOVERY,
    help: "Wait after the first failure in a row, when the server may only " +
      "be restarting; at most the initial interval.",
  }),
  discoveryBackoffInitialMs: durationOption({
    name: "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL",
    default: "10s",
    min: "10ms",
    group: DISCOVERY,
    help: "Wait after the second failure in a row.",
  }),
  discoveryBackoffMaxMs: durationOption({
    name: "XDS_CLIENT_BACKOFF_MAX_INTERVAL",
    default: "60s",
    min: "10ms",
    group: DISCOVERY,
    help: "Longest wait.",
  }),
  discoveryBackoffFactor: numberOption({
    name: "XDS_CLIENT_BACKOFF_RANDOM_FACTOR",
    default: 0.5,
    min: 0,
    max: 10,
    group: DISCOVERY,
    help: "The growth of each wait: 0.5 adds half, 1 doubles, 0 keeps it.",
  }),
  discoveryBackoffJitter: booleanOption({
    name: "XDS_CLIENT_BACKOFF_JITTER",
    default: true,
    group: DISCOVERY,
    help: "Shorten each wait at random by up to half, so that a fleet does " +
      "not reconnect at the same moment.",
  }),
} as const;

/** Settings of the files of TLS to the server. */
export const discoveryTlsSettings = {
  discoveryTlsClientCert: textOption({
    name: "CONFIG_GRPC_XDS_CLIENT_TLS_CERT",
    default: "",
    group: DISCOVERY,
    help: "File of the client certificate; files are read again for each " +
      "connection.",
  }),
  discoveryTlsClientKey: textOption({
    name: "CONFIG_GRPC_XDS_CLIENT_TLS_KEY",
    default: "",
    group: DISCOVERY,
    help: "File of its key.",
  }),
  discoveryTlsCaCert: textOption({
    name: "CONFIG_GRPC_XDS_SERVER_TLS_CACERT",
    default: "",
    group: DISCOVERY,
    help: "File with the authorities of the server's certificate; without it " +
      "the system's.",
  }),
  discoveryTlsSan: textOption({
    name: "CONFIG_GRPC_XDS_SERVER_TLS_SAN",
    default: "",
    group: DISCOVERY,
    help: "Required name of the server's certificate, in place of the host " +
      "of the URL.",
  }),
} as const;

/** All settings that have an effect only with `CONFIG_TYPE=GRPC_XDS_SOTW`. */
export const discoverySettings = {
  ...serverSettings,
  discoveryUseTls: booleanOption({
    name: "CONFIG_GRPC_XDS_SERVER_USE_TLS",
    default: false,
    group: DISCOVERY,
    help: "Connect with TLS.",
  }),
  ...discoveryTlsSettings,
  ...waitSettings,
} as const;

/** Makes an option whose value is the address of a gRPC server. */
function targetOption(
  options: Parameters<typeof textOption>[0] & { readonly default: string },
): Option<string> {
  return {
    ...textOption(options),
    expected: `an address, ${GRPC_TARGET_FORMS}`,
    parse: (text) => parseGrpcTarget(text) === undefined ? undefined : text,
  };
}

type HeadersOption = Option<readonly (readonly [string, string])[]>;

/** Makes an option of pairs that can be headers of a gRPC call. */
function headersOption(
  options: Parameters<typeof pairsOption>[0] & { readonly default: [] },
): HeadersOption {
  const option: HeadersOption = pairsOption(options);
  return {
    ...option,
    expected: "headers such as name:value,name2:value2",
    parse(text) {
      const pairs = option.parse(text);
      const isRight = pairs?.every(([name, value]) =>
        isHeaderName(name) && /^[\x20-\x7e]*$/.test(value)
      );
      return isRight ? pairs : undefined;
    },
  };
}

/**
 * True for a name that a setting may use: headers of the protocol may not be
 * set.
 */
function isHeaderName(name: string): boolean {
  return /^[0-9a-z_.-]+$/i.test(name) &&
    !/^(?:grpc-.*|te|content-type|user-agent|connection)$/i.test(name);
}
