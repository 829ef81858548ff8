import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";

const EXAMPLE = new URL(
  "../../services/ratelimit/example/",
  import.meta.url,
);

/**
 * The type of a field: a scalar, a message by its name, or a list or map of
 * these.
 */
type FieldType =
  | "string"
  | "bool"
  | "uint32"
  | "duration"
  | "any"
  | `enum ${string}`
  | `message ${string}`
  | `list ${string}`
  | `map ${string}`;

/**
 * The facts about a message: its fields, the required ones, and groups of which
 * exactly one must be set.
 */
interface MessageFacts {
  readonly fields: Readonly<Record<string, FieldType>>;
  readonly required?: readonly string[];
  readonly oneOf?: readonly (readonly string[])[];
}

/**
 * The messages that the example uses, as far as it uses them, from Envoy's
 * public definitions (github.com/envoyproxy/envoy, api/envoy).
 */
const MESSAGES: Readonly<Record<string, MessageFacts>> = {
  "config.bootstrap.v3.Bootstrap": {
    fields: {
      static_resources: "message config.bootstrap.v3.Bootstrap.StaticResources",
      admin: "message config.bootstrap.v3.Admin",
    },
  },
  "config.bootstrap.v3.Bootstrap.StaticResources": {
    fields: {
      listeners: "list message config.listener.v3.Listener",
      clusters: "list message config.cluster.v3.Cluster",
    },
  },
  "config.bootstrap.v3.Admin": {
    fields: { address: "message config.core.v3.Address" },
  },
  "config.core.v3.Address": {
    fields: { socket_address: "message config.core.v3.SocketAddress" },
    oneOf: [["socket_address"]],
  },
  "config.core.v3.SocketAddress": {
    fields: { address: "string", port_value: "uint32" },
    required: ["address", "port_value"],
  },
  "config.listener.v3.Listener": {
    fields: {
      name: "string",
      address: "message config.core.v3.Address",
      filter_chains: "list message config.listener.v3.FilterChain",
    },
    required: ["address"],
  },
  "config.listener.v3.FilterChain": {
    fields: { filters: "list message Extension" },
  },
  "Extension": {
    fields: { name: "string", typed_config: "any" },
    required: ["name", "typed_config"],
  },
  "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager":
    {
      fields: {
        stat_prefix: "string",
        use_remote_address: "bool",
        normalize_path: "bool",
        http_filters: "list message Extension",
        route_config: "message config.route.v3.RouteConfiguration",
      },
      required: ["stat_prefix"],
      oneOf: [["route_config"]],
    },
  "extensions.filters.http.router.v3.Router": { fields: {} },
  "extensions.filters.http.ratelimit.v3.RateLimit": {
    fields: {
      domain: "string",
      stage: "uint32",
      request_type: "string",
      timeout: "duration",
      failure_mode_deny: "bool",
      rate_limited_as_resource_exhausted: "bool",
      rate_limit_service: "message config.ratelimit.v3.RateLimitServiceConfig",
      enable_x_ratelimit_headers: "enum OFF DRAFT_VERSION_03",
      disable_x_envoy_ratelimited_header: "bool",
    },
    required: ["domain", "rate_limit_service"],
  },
  "extensions.filters.http.ratelimit.v3.RateLimitPerRoute": {
    fields: {
      vh_rate_limits: "enum OVERRIDE INCLUDE IGNORE",
      domain: "string",
    },
  },
  "config.ratelimit.v3.RateLimitServiceConfig": {
    fields: {
      grpc_service: "message config.core.v3.GrpcService",
      transport_api_version: "enum AUTO V2 V3",
    },
    required: ["grpc_service"],
  },
  "config.core.v3.GrpcService": {
    fields: {
      envoy_grpc: "message config.core.v3.GrpcService.EnvoyGrpc",
      timeout: "duration",
    },
    oneOf: [["envoy_grpc"]],
  },
  "config.core.v3.GrpcService.EnvoyGrpc": {
    fields: { cluster_name: "string", authority: "string" },
    required: ["cluster_name"],
  },
  "config.route.v3.RouteConfiguration": {
    fields: {
      name: "string",
      virtual_hosts: "list message config.route.v3.VirtualHost",
    },
  },
  "config.route.v3.VirtualHost": {
    fields: {
      name: "string",
      domains: "list string",
      routes: "list message config.route.v3.Route",
      rate_limits: "list message config.route.v3.RateLimit",
      typed_per_filter_config: "map any",
    },
    required: ["name", "domains"],
  },
  "config.route.v3.Route": {
    fields: {
      match: "message config.route.v3.RouteMatch",
      route: "message config.route.v3.RouteAction",
      typed_per_filter_config: "map any",
    },
    required: ["match"],
    oneOf: [["route"]],
  },
  "config.route.v3.RouteMatch": {
    fields: { prefix: "string", path: "string" },
    oneOf: [["prefix", "path"]],
  },
  "config.route.v3.RouteAction": {
    fields: {
      cluster: "string",
      rate_limits: "list message config.route.v3.RateLimit",
    },
    oneOf: [["cluster"]],
  },
  "config.route.v3.RateLimit": {
    fields: {
      stage: "uint32",
      disable_key: "string",
      actions: "list message config.route.v3.RateLimit.Action",
    },
    required: ["actions"],
  },
  "config.route.v3.RateLimit.Action": {
    fields: {
      remote_address: "message config.route.v3.RateLimit.Action.RemoteAddress",
      request_headers:
        "message config.route.v3.RateLimit.Action.RequestHeaders",
      generic_key: "message config.route.v3.RateLimit.Action.GenericKey",
    },
    oneOf: [["remote_address", "request_headers", "generic_key"]],
  },
  "config.route.v3.RateLimit.Action.RemoteAddress": { fields: {} },
  "config.route.v3.RateLimit.Action.RequestHeaders": {
    fields: {
      header_name: "string",
      descriptor_key: "string",
      skip_if_absent: "bool",
    },
    required: ["header_name", "descriptor_key"],
  },
  "config.route.v3.RateLimit.Action.GenericKey": {
    fields: { descriptor_value: "string", descriptor_key: "string" },
    required: ["descriptor_value"],
  },
  "config.cluster.v3.Cluster": {
    fields: {
      name: "string",
      type: "enum STATIC STRICT_DNS LOGICAL_DNS EDS ORIGINAL_DST",
      connect_timeout: "duration",
      lb_policy: "enum ROUND_ROBIN LEAST_REQUEST RING_HASH RANDOM MAGLEV",
      typed_extension_protocol_options: "map any",
      health_checks: "list message config.core.v3.HealthCheck",
      load_assignment: "message config.endpoint.v3.ClusterLoadAssignment",
      transport_socket: "message Extension",
    },
    required: ["name"],
  },
  "extensions.upstreams.http.v3.HttpProtocolOptions": {
    fields: {
      explicit_http_config:
        "message extensions.upstreams.http.v3.HttpProtocolOptions.ExplicitHttpConfig",
    },
    oneOf: [["explicit_http_config"]],
  },
  "extensions.upstreams.http.v3.HttpProtocolOptions.ExplicitHttpConfig": {
    fields: {
      http2_protocol_options: "message config.core.v3.Http2ProtocolOptions",
    },
    oneOf: [["http2_protocol_options"]],
  },
  "config.core.v3.Http2ProtocolOptions": {
    fields: {
      connection_keepalive: "message config.core.v3.KeepaliveSettings",
    },
  },
  "config.core.v3.KeepaliveSettings": {
    fields: { interval: "duration", timeout: "duration" },
    required: ["timeout"],
  },
  "config.core.v3.HealthCheck": {
    fields: {
      timeout: "duration",
      interval: "duration",
      unhealthy_threshold: "uint32",
      healthy_threshold: "uint32",
      grpc_health_check: "message config.core.v3.HealthCheck.GrpcHealthCheck",
      tls_options: "message config.core.v3.HealthCheck.TlsOptions",
    },
    required: [
      "timeout",
      "interval",
      "unhealthy_threshold",
      "healthy_threshold",
    ],
    oneOf: [["grpc_health_check"]],
  },
  "config.core.v3.HealthCheck.GrpcHealthCheck": {
    fields: { service_name: "string", authority: "string" },
  },
  "config.core.v3.HealthCheck.TlsOptions": {
    fields: { alpn_protocols: "list string" },
  },
  "config.endpoint.v3.ClusterLoadAssignment": {
    fields: {
      cluster_name: "string",
      endpoints: "list message config.endpoint.v3.LocalityLbEndpoints",
    },
    required: ["cluster_name"],
  },
  "config.endpoint.v3.LocalityLbEndpoints": {
    fields: { lb_endpoints: "list message config.endpoint.v3.LbEndpoint" },
  },
  "config.endpoint.v3.LbEndpoint": {
    fields: { endpoint: "message config.endpoint.v3.Endpoint" },
  },
  "config.endpoint.v3.Endpoint": {
    fields: { address: "message config.core.v3.Address" },
  },
  "extensions.transport_sockets.tls.v3.UpstreamTlsContext": {
    fields: {
      sni: "string",
      common_tls_context:
        "message extensions.transport_sockets.tls.v3.CommonTlsContext",
    },
  },
  "extensions.transport_sockets.tls.v3.CommonTlsContext": {
    fields: {
      alpn_protocols: "list string",
      tls_certificates:
        "list message extensions.transport_sockets.tls.v3.TlsCertificate",
      validation_context:
        "message extensions.transport_sockets.tls.v3.CertificateValidationContext",
    },
  },
  "extensions.transport_sockets.tls.v3.TlsCertificate": {
    fields: {
      certificate_chain: "message config.core.v3.DataSource",
      private_key: "message config.core.v3.DataSource",
    },
  },
  "config.core.v3.DataSource": {
    fields: { filename: "string", inline_string: "string" },
    oneOf: [["filename", "inline_string"]],
  },
  "extensions.transport_sockets.tls.v3.CertificateValidationContext": {
    fields: {
      trusted_ca: "message config.core.v3.DataSource",
      match_typed_subject_alt_names:
        "list message extensions.transport_sockets.tls.v3.SubjectAltNameMatcher",
    },
  },
  "extensions.transport_sockets.tls.v3.SubjectAltNameMatcher": {
    fields: {
      san_type: "enum EMAIL DNS URI IP_ADDRESS OTHER_NAME",
      matcher: "message type.matcher.v3.StringMatcher",
    },
    required: ["san_type", "matcher"],
  },
  "type.matcher.v3.StringMatcher": {
    fields: { exact: "string", prefix: "string", suffix: "string" },
    oneOf: [["exact", "prefix", "suffix"]],
  },
};

const ANY_PREFIX = "type.googleapis.com/envoy.";

/** Returns where a value does not have the given type. */
function findFaults(value: unknown, type: string, place: string): string[] {
  const [kind = "", ...rest] = type.split(" ");
  const inner = rest.join(" ");
  const fault = (what: string): string[] => [`${place}: ${what}`];
  switch (kind) {
    case "string":
      return typeof value === "string" && value !== ""
        ? []
        : fault("it is not text");
    case "bool":
      return typeof value === "boolean" ? [] : fault("it is not a boolean");
    case "uint32":
      return Number.isInteger(value) ? [] : fault("it is not a whole number");
    case "duration":
      return typeof value === "string" && /^\d+(\.\d+)?s$/.test(value)
        ? []
        : fault("it is not a duration");
    case "enum":
      return rest.includes(String(value)) ? [] : fault(`it is not ${inner}`);
    case "list":
      return Array.isArray(value) && value.length > 0
        ? value.flatMap((one, at) => findFaults(one, inner, `${place}/${at}`))
        : fault("it is not a list");
    case "map":
      return Object.entries(value ?? {}).flatMap(([key, one]) =>
        findFaults(one, inner, `${place}/${key}`)
      );
    case "any": {
      const { "@type": url, ...message } = value as Record<string, unknown>;
      return typeof url === "string" && url.startsWith(ANY_PREFIX)
        ? messageFaults(message, url.slice(ANY_PREFIX.length), place)
        : fault("it has no @type of Envoy's");
    }
    default:
      return messageFaults(value, inner, place);
  }
}

function messageFaults(value: unknown, name: string, place: string): string[] {
  const facts = MESSAGES[name];
  if (facts === undefined) return [`${place}: there is no message ${name}`];
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return [`${place}: it is not a message`];
  }
  const { fields, required = [], oneOf = [] } = facts;
  const members = Object.keys(value);
  return [
    ...Object.entries(value).flatMap(([member, inner]) => {
      const type = fields[member];
      const at = `${place}/${member}`;
      return type === undefined
        ? [`${at}: ${name} has no such field`]
        : findFaults(inner, type, at);
    }),
    ...required.filter((one) => !members.includes(one))
      .map((one) => `${place}: ${one} is missing`),
    ...oneOf.filter((names) =>
      names.filter((one) => members.includes(one)).length !== 1
    ).map((names) => `${place}: it needs one of ${names.join(", ")}`),
  ];
}

async function read(path: string): Promise<unknown> {
  return parse(await Deno.readTextFile(new URL(path, EXAMPLE)));
}

/** Returns all values of a member, at any depth. */
function findMembers(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([member, inner]) => [
    ...member === name ? [inner] : [],
    ...findMembers(inner, name),
  ]);
}

interface RuleLevel {
  readonly key: string;
  readonly rate_limit?: unknown;
  readonly descriptors?: readonly RuleLevel[];
}

type Action =
  | { readonly remote_address: unknown }
  | { readonly request_headers: { readonly descriptor_key: string } };

function getKey(action: Action): string {
  return "remote_address" in action
    ? "remote_address"
    : action.request_headers.descriptor_key;
}

Deno.test("findFaults() finds fields, values and types that Envoy does not have", () => {
  const wrong: readonly (readonly [unknown, string, string])[] = [
    [{ actions: [] }, "message config.route.v3.RateLimit", "not a list"],
    [{ acts: 1 }, "message config.route.v3.RateLimit", "no such field"],
    [{}, "message config.route.v3.RateLimit", "actions is missing"],
    [
      { prefix: "/", path: "/" },
      "message config.route.v3.RouteMatch",
      "one of",
    ],
    ["250ms", "duration", "not a duration"],
    ["LOOSE_DNS", "enum STATIC STRICT_DNS", "is not"],
    [{ "@type": `${ANY_PREFIX}x.Y` }, "any", "no message x.Y"],
    [{ name: "x" }, "message Extension", "typed_config is missing"],
  ];
  for (const [value, type, fault] of wrong) {
    const found = findFaults(value, type, "").join();
    assert(found.includes(fault), `${JSON.stringify(value)}: ${found}`);
  }
});

Deno.test("the example for Envoy has only fields and values that Envoy has", async () => {
  assertEquals(
    findFaults(
      await read("envoy/envoy.yaml"),
      "message config.bootstrap.v3.Bootstrap",
      "",
    ),
    [],
  );
  assertEquals(
    findFaults(
      await read("envoy/ratelimit_tls_cluster.yaml"),
      "message config.cluster.v3.Cluster",
      "",
    ),
    [],
  );
});

Deno.test("the example for Envoy names clusters that it has, and the router last", async () => {
  const bootstrap = await read("envoy/envoy.yaml");
  const [clusters] = findMembers(bootstrap, "clusters") as [
    readonly { readonly name: string }[],
  ];
  const names = clusters.map(({ name }) => name);
  for (const member of ["cluster", "cluster_name"]) {
    for (const name of findMembers(bootstrap, member)) {
      assert(names.includes(String(name)), String(name));
    }
  }
  const [filters] = findMembers(bootstrap, "http_filters") as [
    readonly { readonly name: string }[],
  ];
  assertEquals(filters.at(-1)?.name, "envoy.filters.http.router");
});

Deno.test("the example for Envoy asks for descriptors that the example rules limit", async () => {
  const bootstrap = await read("envoy/envoy.yaml");
  const rules = await read("config/edge.yaml") as {
    readonly domain: string;
    readonly descriptors: readonly RuleLevel[];
  };
  const filters = findMembers(bootstrap, "http_filters").flat() as readonly {
    readonly typed_config: { readonly domain?: string };
  }[];
  assertEquals(filters[0]?.typed_config.domain, rules.domain);
  const asked = findMembers(bootstrap, "rate_limits").flat() as readonly {
    readonly actions: readonly Action[];
  }[];
  assertEquals(asked.length, 3);
  for (const { actions } of asked) {
    const keys = actions.map(getKey);
    let levels = rules.descriptors;
    for (const key of keys.slice(0, -1)) {
      levels = levels.find((level) => level.key === key)?.descriptors ?? [];
    }
    const isLimited = levels.some(({ key, rate_limit }) =>
      key === keys.at(-1) && rate_limit !== undefined
    );
    assert(isLimited, keys.join(" "));
  }
});
