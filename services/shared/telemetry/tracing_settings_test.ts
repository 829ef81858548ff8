import { assert, assertEquals } from "@std/assert";
import { readSettings } from "../settings.ts";
import {
  foreignTracePrefixes,
  type TracingPlan,
  tracingPlan,
  type TracingSettings,
  tracingSettings,
} from "./tracing_settings.ts";

type Variables = Readonly<Record<string, string>>;

function parseSettings(env: Variables): TracingSettings {
  const table = tracingSettings({ serviceName: "svc" });
  const read = readSettings(table, (name) => env[name]);
  assert(read.kind === "ok", JSON.stringify(read));
  return read.values as TracingSettings;
}

function planTracing(env: Variables) {
  return tracingPlan(parseSettings(env), {
    defaultServiceName: "svc",
    newId: () => "made",
  });
}

function getPlan(env: Variables): TracingPlan {
  const outcome = planTracing(env);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.plan;
}

const GRPC = { TRACING_EXPORTER_PROTOCOL: "grpc" };
const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

Deno.test("tracingPlan() finds the collector as the standard variables say", () => {
  const cases: readonly (readonly [Variables, string])[] = [
    [{}, "http://localhost:4318/v1/traces"],
    [{ [ENDPOINT]: "http://a:1" }, "http://a:1/v1/traces"],
    [{ [ENDPOINT]: "https://a/base/" }, "https://a/base/v1/traces"],
    [{ [TRACES_ENDPOINT]: "http://a:1" }, "http://a:1/"],
    [{ [TRACES_ENDPOINT]: "http://a/x", [ENDPOINT]: "http://b" }, "http://a/x"],
    [GRPC, "http://localhost:4317/"],
    [{ ...GRPC, [ENDPOINT]: "http://a:1" }, "http://a:1/"],
    [{ ...GRPC, [ENDPOINT]: "a.b:4317" }, "https://a.b:4317/"],
    [
      {
        ...GRPC,
        [ENDPOINT]: "a.b:4317",
        OTEL_EXPORTER_OTLP_INSECURE: "true",
      },
      "http://a.b:4317/",
    ],
    [
      {
        ...GRPC,
        [ENDPOINT]: "a.b:4317",
        OTEL_EXPORTER_OTLP_INSECURE: "true",
        OTEL_EXPORTER_OTLP_TRACES_INSECURE: "false",
      },
      "https://a.b:4317/",
    ],
    [{ ...GRPC, [ENDPOINT]: "http://[::1]:4317" }, "http://[::1]:4317/"],
  ];
  for (const [env, expected] of cases) {
    assertEquals(getPlan(env).url.href, expected, JSON.stringify(env));
  }
});

Deno.test("tracingPlan() names the service by its own settings, then by the standard ones", () => {
  const ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES";
  const getName = (env: Variables) => getPlan(env).resource["service.name"];
  assertEquals(getName({}), "svc");
  assertEquals(getName({ [ATTRIBUTES]: "service.name=a" }), "a");
  const otel = { [ATTRIBUTES]: "service.name=a", OTEL_SERVICE_NAME: "b" };
  assertEquals(getName(otel), "b");
  assertEquals(getName({ ...otel, TRACING_SERVICE_NAME: "c" }), "c");
  assertEquals(getPlan({}).resource, {
    "service.name": "svc",
    "service.instance.id": "made",
  });
  assertEquals(
    getPlan({
      [ATTRIBUTES]:
        "service.namespace=n,service.instance.id=i,k8s.pod.name=p%3D%20q",
    }).resource,
    {
      "service.name": "svc",
      "service.namespace": "n",
      "service.instance.id": "i",
      "k8s.pod.name": "p= q",
    },
  );
  assertEquals(
    getPlan({
      [ATTRIBUTES]: "service.namespace=n,service.instance.id=i",
      TRACING_SERVICE_NAMESPACE: "own",
      TRACING_SERVICE_INSTANCE_ID: "mine",
    }).resource,
    {
      "service.name": "svc",
      "service.namespace": "own",
      "service.instance.id": "mine",
    },
  );
});

Deno.test("tracingPlan() tells what cannot be followed and shows no secret", () => {
  const secret = "very-secret";
  const cases: readonly Variables[] = [
    { [ENDPOINT]: "nowhere" },
    { [ENDPOINT]: `http://me:${secret}@a` },
    { [ENDPOINT]: "unix:/a" },
    { ...GRPC, [ENDPOINT]: "a b:1" },
    { OTEL_EXPORTER_OTLP_HEADERS: `a=${secret}%` },
    { OTEL_EXPORTER_OTLP_HEADERS: `a b=${secret}` },
    { OTEL_EXPORTER_OTLP_HEADERS: `a=${secret}%0A` },
    { OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: "/a" },
    { ...GRPC, OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "gzip" },
    { OTEL_RESOURCE_ATTRIBUTES: "a=%" },
  ];
  for (const env of cases) {
    const outcome = planTracing(env);
    assert(outcome.kind === "invalid", JSON.stringify(env));
    assertEquals(outcome.problems.length, 1, JSON.stringify(outcome));
    assertEquals(JSON.stringify(outcome).includes(secret), false);
  }
});

Deno.test("foreignTracePrefixes() leaves OpenTelemetry's variables to others unless they are ours", () => {
  const of = (env: Variables) => foreignTracePrefixes((name) => env[name]);
  assertEquals(of({}), ["OTEL_"]);
  assertEquals(of({ TRACING_ENABLED: "false" }), ["OTEL_"]);
  assertEquals(of({ TRACING_ENABLED: "true" }), []);
  assertEquals(of({ TRACING_ENABLED: "1", OTEL_DENO: "1" }), ["OTEL_"]);
});
