/**
 * The settings of tracing, the same for every service, and the plan made of
 * them: where spans are sent, for which service, and what share of the traces.
 * The destination comes from the standard variables of OpenTelemetry.
 *
 * @module
 */

import {
  booleanOption,
  choiceOption,
  inGroup,
  integerOption,
  numberOption,
  type Option,
  type OptionValues,
  pairsOption,
  textOption,
} from "../options.ts";
import { quote } from "../quote.ts";

const GROUP = "Tracing";

const COMPRESSIONS = { none: "none", gzip: "gzip" } as const;

const destinationSettings = {
  otlpEndpoint: textOption({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    default: "",
    help: "URL of the collector; over http, /v1/traces is added. " +
      "http://localhost:4318 when empty, over grpc http://localhost:4317.",
  }),
  otlpTracesEndpoint: textOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    default: "",
    help: "URL for spans, used unchanged, in place of that one.",
  }),
  otlpInsecure: booleanOption({
    name: "OTEL_EXPORTER_OTLP_INSECURE",
    default: false,
    help: "Over grpc, an endpoint without http:// or https:// is called " +
      "without TLS.",
  }),
  otlpTracesInsecure: booleanOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_INSECURE",
    help: "The same, in place of that one.",
  }),
  otlpHeaders: pairsOption({
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    separator: "=",
    default: [],
    secret: true,
    help: "Fields sent with spans, such as authorization; values are " +
      "percent-encoded.",
  }),
  otlpTracesHeaders: pairsOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    separator: "=",
    default: [],
    secret: true,
    help: "Fields beside those, and in place of those of the same name.",
  }),
  otlpTimeoutMs: integerOption({
    name: "OTEL_EXPORTER_OTLP_TIMEOUT",
    default: 10_000,
    min: 1,
    max: 600_000,
    help: "Time limit for sending a batch in milliseconds, retries included.",
  }),
  otlpTracesTimeoutMs: integerOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    min: 1,
    max: 600_000,
    help: "The same, in place of that one.",
  }),
  otelScheduleDelayMs: integerOption({
    name: "OTEL_BSP_SCHEDULE_DELAY",
    default: 5_000,
    min: 10,
    max: 600_000,
    help: "Milliseconds that spans wait to be sent in a batch.",
  }),
  otlpCompression: choiceOption({
    name: "OTEL_EXPORTER_OTLP_COMPRESSION",
    values: COMPRESSIONS,
    default: "none",
    help: "The compression of spans; gzip requires http.",
  }),
  otlpTracesCompression: choiceOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
    values: COMPRESSIONS,
    help: "The same, in place of that one.",
  }),
  otlpCertificate: textOption({
    name: "OTEL_EXPORTER_OTLP_CERTIFICATE",
    default: "",
    help: "File with trusted certificates, as PEM. When empty, those of the " +
      "system.",
  }),
  otlpTracesCertificate: textOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
    default: "",
    help: "The same, in place of that one.",
  }),
  otlpClientCertificate: textOption({
    name: "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
    default: "",
    help: "File with the client certificate for the collector, as PEM.",
  }),
  otlpTracesClientCertificate: textOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
    default: "",
    help: "The same, in place of that one.",
  }),
  otlpClientKey: textOption({
    name: "OTEL_EXPORTER_OTLP_CLIENT_KEY",
    default: "",
    help: "File with the key of that certificate, as PEM.",
  }),
  otlpTracesClientKey: textOption({
    name: "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
    default: "",
    help: "The same, in place of that one.",
  }),
  otelServiceName: textOption({
    name: "OTEL_SERVICE_NAME",
    default: "",
    help: "Service name in spans if TRACING_SERVICE_NAME is not set.",
  }),
  otelResourceAttributes: pairsOption({
    name: "OTEL_RESOURCE_ATTRIBUTES",
    separator: "=",
    default: [],
    help: "Further attributes of the service in spans, percent-encoded. The " +
      "other settings take precedence.",
  }),
  otelDeno: textOption({
    name: "OTEL_DENO",
    default: "",
    help:
      "With true or 1 at the start the runtime sends the spans itself, by " +
      "OpenTelemetry's own variables. Of the settings here only " +
      "TRACING_ENABLED then applies.",
  }),
} as const;

const tracingEnabled = booleanOption({
  name: "TRACING_ENABLED",
  default: false,
  help: "Send spans to an OpenTelemetry collector.",
});

/** The settings; `serviceName` is what spans call the service by default. */
export function tracingSettings({ serviceName }: {
  readonly serviceName: string;
}): TracingSettingTable {
  return inGroup(GROUP, {
    tracingEnabled,
    tracingProtocol: choiceOption({
      name: "TRACING_EXPORTER_PROTOCOL",
      values: { http: "http", grpc: "grpc" },
      default: "http",
      help: "The protocol to the collector: protobuf over HTTP, or gRPC.",
    }),
    tracingServiceName: textOption({
      name: "TRACING_SERVICE_NAME",
      default: serviceName,
      help: "Service name in spans.",
    }),
    tracingServiceNamespace: textOption({
      name: "TRACING_SERVICE_NAMESPACE",
      default: "",
      help: "Namespace of the service in spans.",
    }),
    tracingServiceInstanceId: textOption({
      name: "TRACING_SERVICE_INSTANCE_ID",
      default: "",
      help: "Id of this process in spans; a random UUID when empty.",
    }),
    tracingSamplingRate: numberOption({
      name: "TRACING_SAMPLING_RATE",
      default: 1,
      min: 0,
      max: 1,
      help: "Share of recorded traces among those that begin here. For a " +
        "caller's trace the caller decides.",
    }),
    ...destinationSettings,
  });
}

/** The table of {@linkcode tracingSettings}. */
export type TracingSettingTable =
  & {
    readonly tracingEnabled: Option<boolean>;
    readonly tracingProtocol: Option<"http" | "grpc">;
    readonly tracingServiceName: Option<string>;
    readonly tracingServiceNamespace: Option<string>;
    readonly tracingServiceInstanceId: Option<string>;
    readonly tracingSamplingRate: Option<number>;
  }
  & typeof destinationSettings;

/** The values of {@linkcode tracingSettings}. */
export type TracingSettings = OptionValues<TracingSettingTable>;

/** Whether the runtime itself was told to send spans. */
export function isRuntimeTracing(
  { otelDeno }: Pick<TracingSettings, "otelDeno">,
): boolean {
  return isOn(otelDeno);
}

/**
 * A line that names those of our own settings which are set, to something else
 * than their default, and have no effect; empty where there are none.
 */
export function idleTracingNotices(
  settings: TracingSettings,
  { table, readVariable }: {
    readonly table: TracingSettingTable;
    readonly readVariable: (name: string) => string | undefined;
  },
): readonly string[] {
  const { tracingEnabled, otelDeno } = table;
  const why = !settings.tracingEnabled
    ? `${tracingEnabled.name} is not true`
    : isRuntimeTracing(settings)
    ? `the runtime sends the spans, as ${otelDeno.name} is set`
    : undefined;
  if (why === undefined) return [];
  const names = [
    table.tracingProtocol,
    table.tracingServiceName,
    table.tracingServiceNamespace,
    table.tracingServiceInstanceId,
    table.tracingSamplingRate,
  ].filter((setting: Option<unknown>) => {
    const text = readVariable(setting.name) ?? "";
    return text !== "" && setting.parse(text) !== setting.fallback;
  }).map(({ name }) => name);
  if (names.length === 0) return [];
  const verbs = names.length === 1 ? "is set and has" : "are set and have";
  return [`${names.join(", ")} ${verbs} no effect: ${why}`];
}

/**
 * Prefixes of variables in which unknown names are not reported: that of
 * OpenTelemetry while the runtime sends spans itself, and while tracing is off,
 * as they may be set for every program of a machine.
 */
export function foreignTracePrefixes(
  readVariable: (name: string) => string | undefined,
): readonly string[] {
  const enabled = readVariable(tracingEnabled.name) ?? "";
  const runtime = readVariable(destinationSettings.otelDeno.name) ?? "";
  const isOwn = tracingEnabled.parse(enabled) === true && !isOn(runtime);
  return isOwn ? [] : ["OTEL_"];
}

function isOn(text: string): boolean {
  return text === "true" || text === "1";
}

/** A file that a setting names. */
export interface OtlpFile {
  /** Where it is; empty where none is named. */
  readonly path: string;
  /** The setting. */
  readonly setting: string;
}

/** The files of TLS to the collector. */
export interface OtlpFiles {
  /** Certificates that are trusted. */
  readonly ca: OtlpFile;
  /** The certificate that is shown. */
  readonly cert: OtlpFile;
  /** Its key. */
  readonly key: OtlpFile;
}

/** The files that the settings name; those for traces go before the others. */
export function pickOtlpFiles(settings: TracingSettings): OtlpFiles {
  const file = (
    ofTraces: OtlpFileSetting,
    general: OtlpFileSetting,
  ): OtlpFile => {
    const key = settings[ofTraces] === "" ? general : ofTraces;
    return { path: settings[key], setting: destinationSettings[key].name };
  };
  return {
    ca: file("otlpTracesCertificate", "otlpCertificate"),
    cert: file("otlpTracesClientCertificate", "otlpClientCertificate"),
    key: file("otlpTracesClientKey", "otlpClientKey"),
  };
}

type OtlpFileSetting =
  | `otlp${"" | "Traces"}Certificate`
  | `otlp${"" | "Traces"}ClientCertificate`
  | `otlp${"" | "Traces"}ClientKey`;

/** Where and how spans are sent. */
export interface TracingPlan {
  /** The protocol to the collector. */
  readonly protocol: "http" | "grpc";
  /** The URL of the collector; its path is ignored over gRPC. */
  readonly url: URL;
  /** Fields sent with them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for a batch, retries included. */
  readonly timeoutMs: number;
  /** How long spans wait for others of their batch, in milliseconds. */
  readonly delayMs: number;
  /** How they are compressed. */
  readonly compression: "none" | "gzip";
  /** The files of TLS. */
  readonly files: OtlpFiles;
  /** What all spans say of the service. */
  readonly resource: Readonly<Record<string, string>>;
  /** Share of the new traces that is recorded. */
  readonly samplingRate: number;
}

/** A plan, or the faults of the settings, a line each. */
type TracingPlanOutcome =
  | { readonly kind: "ok"; readonly plan: TracingPlan }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/**
 * Makes the plan from the settings. The service's own settings take precedence
 * over those of OpenTelemetry, and those for traces over the general ones
 * (OpenTelemetry, OTLP exporter configuration).
 *
 * @param newId Makes the id of this process, where none is set.
 */
export function tracingPlan(
  settings: TracingSettings,
  { defaultServiceName, newId }: {
    readonly defaultServiceName: string;
    readonly newId: () => string;
  },
): TracingPlanOutcome {
  const problems: string[] = [];
  const complain = (problem: string): void => {
    problems.push(`Cannot read settings: ${problem}`);
  };
  const decoded = (name: string, pairs: Pairs): Record<string, string> => {
    const entries = pairs.map(([key, text]) => {
      const value = percentDecoded(text);
      if (value === undefined) {
        complain(
          `${name} has a value for ${quote(key)} that is not percent-encoded`,
        );
      }
      return [key, value ?? ""] as const;
    });
    return Object.fromEntries(entries);
  };
  const { tracingProtocol: protocol } = settings;
  const url = destination(settings);
  if (typeof url === "string") complain(url);
  const compression = settings.otlpTracesCompression ??
    settings.otlpCompression;
  if (compression === "gzip" && protocol === "grpc") {
    complain(
      "OTEL_EXPORTER_OTLP_COMPRESSION is gzip, which goes with " +
        "TRACING_EXPORTER_PROTOCOL http only; unset it",
    );
  }
  const headers = {
    ...decoded("OTEL_EXPORTER_OTLP_HEADERS", settings.otlpHeaders),
    ...decoded("OTEL_EXPORTER_OTLP_TRACES_HEADERS", settings.otlpTracesHeaders),
  };
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^`|~\w-]+$/.test(name) || /[^\t\x20-\x7e]/.test(value)) {
      complain(
        `OTEL_EXPORTER_OTLP_HEADERS has a field ${quote(name)} that HTTP ` +
          "doesn't allow",
      );
    }
  }
  const files = pickOtlpFiles(settings);
  if ((files.cert.path === "") !== (files.key.path === "")) {
    complain(
      "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY " +
        "go together; set both or none",
    );
  }
  const resource = buildResource(settings, {
    defaultServiceName,
    newId,
    others: decoded(
      "OTEL_RESOURCE_ATTRIBUTES",
      settings.otelResourceAttributes,
    ),
  });
  if (problems.length > 0 || typeof url === "string") {
    return { kind: "invalid", problems };
  }
  return {
    kind: "ok",
    plan: {
      ...{ protocol, url, headers, compression, files, resource },
      timeoutMs: settings.otlpTracesTimeoutMs ?? settings.otlpTimeoutMs,
      delayMs: settings.otelScheduleDelayMs,
      samplingRate: settings.tracingSamplingRate,
    },
  };
}

type Pairs = readonly (readonly [key: string, value: string])[];

/** The URL that spans are sent to, or what is wrong with it. */
function destination(settings: TracingSettings): URL | string {
  const { otlpTracesEndpoint, otlpEndpoint, tracingProtocol } = settings;
  const isGrpc = tracingProtocol === "grpc";
  const given = otlpTracesEndpoint || otlpEndpoint;
  const name = otlpTracesEndpoint === ""
    ? "OTEL_EXPORTER_OTLP_ENDPOINT"
    : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  const text = given === ""
    ? `http://localhost:${isGrpc ? 4317 : 4318}`
    : isGrpc && !given.includes("://")
    ? `${isInsecure(settings) ? "http" : "https"}://${given}`
    : given;
  const url = URL.parse(text);
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  // A path would be a mistake, a user and a password would show in logs.
  if (url === null || !isHttp || url.username !== "" || url.password !== "") {
    return `${name} is not an http or https URL without a password`;
  }
  if (!isGrpc && otlpTracesEndpoint === "") {
    url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
  }
  return url;
}

function isInsecure(settings: TracingSettings): boolean {
  return settings.otlpTracesInsecure ?? settings.otlpInsecure;
}

function buildResource(
  settings: TracingSettings,
  { defaultServiceName, newId, others }: {
    readonly defaultServiceName: string;
    readonly newId: () => string;
    readonly others: Readonly<Record<string, string>>;
  },
): Readonly<Record<string, string>> {
  const ownName = settings.tracingServiceName === defaultServiceName
    ? ""
    : settings.tracingServiceName;
  const name = ownName || settings.otelServiceName ||
    others["service.name"] || defaultServiceName;
  const namespace = settings.tracingServiceNamespace ||
    (others["service.namespace"] ?? "");
  const resource: Record<string, string> = {
    ...others,
    "service.name": name,
    "service.instance.id": settings.tracingServiceInstanceId ||
      others["service.instance.id"] || newId(),
  };
  if (namespace !== "") resource["service.namespace"] = namespace;
  return resource;
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return undefined;
  }
}
