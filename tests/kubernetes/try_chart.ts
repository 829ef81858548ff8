/**
 * Tests the chart for Kubernetes as its users have it: with Helm, and what it
 * makes with the types of the Kubernetes API. `deno task test:kubernetes` runs
 * it. Not part of `deno task test`, as it downloads both.
 *
 * @module
 */

import { assertEquals, assertRejects } from "@std/assert";
import { KubernetesTools } from "../../scripts/kubernetes/tools.ts";
import {
  CHART,
  MANIFEST_NAMES,
  MANIFESTS,
  renderManifest,
} from "../../scripts/manifests.ts";
import { type Tree, treesIn } from "../forge/yaml_tree.ts";
import { NpmProject } from "../sdk/npm/npm_project.ts";

/** Time limit in milliseconds; long enough to download some fifty megabytes. */
const TIMEOUT_MS = 300_000;

/** Packages that describe objects of the API, and what checks them. */
const PACKAGES = [
  "kubernetes-types@1.30",
  "@kubernetes-models/prometheus-operator@6",
  "typescript@5.9",
];

/** Where the type of each kind is; its name is that of the kind. */
const TYPES: Readonly<Record<string, string>> = {
  ConfigMap: "kubernetes-types/core/v1",
  Deployment: "kubernetes-types/apps/v1",
  NetworkPolicy: "kubernetes-types/networking/v1",
  PodDisruptionBudget: "kubernetes-types/policy/v1",
  PodMonitor:
    "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor",
  Service: "kubernetes-types/core/v1",
  StatefulSet: "kubernetes-types/apps/v1",
};

/** Values that use all of what the chart can do. */
const ALL_VALUES = {
  image: "registry.example/tercet:1",
  imagePullSecrets: [{ name: "registry" }],
  podMonitor: { enabled: true, labels: { release: "prometheus" } },
  ratelimit: {
    replicas: null,
    rulesConfigMap: "my-rules",
    secretEnv: { KVSTORE_AUTH: { name: "redis", key: "auth", optional: true } },
    mounts: [
      { path: "/certs", secret: "ratelimit-certs" },
      { path: "/mapping", configMap: "mapping" },
    ],
    podAnnotations: { "example.com/a": "b" },
    pod: {
      nodeSelector: { "kubernetes.io/arch": "amd64" },
      tolerations: [{ key: "a", operator: "Exists" }],
      priorityClassName: "high",
    },
  },
  tasks: {
    enabled: true,
    env: { TLS_CERT_FILE: "/certs/tls.crt", TLS_KEY_FILE: "/certs/tls.key" },
    mounts: [{ path: "/certs", secret: "tasks-certs" }],
    volume: { storageClassName: "fast" },
  },
  relayer: { enabled: true },
  keyserver: { enabled: true, makeKey: true },
};

/** Values for several pods, whose number is an autoscaler's or is given. */
const SHARED_VALUES = {
  tasks: {
    enabled: true,
    store: "postgres",
    replicas: null,
    env: {
      DATABASE_URL: "postgres://tasks@db1,db2/tasks",
      SHUTDOWN_DRAIN_DELAY: "30s",
    },
    secretEnv: {
      PGPASSWORD: { name: "database", key: "password" },
      MASTER_KEYS: { name: "tercet-tasks", key: "MASTER_KEYS" },
    },
  },
  relayer: {
    enabled: true,
    store: "postgres",
    replicas: 3,
    secretEnv: {
      DATABASE_URL: { name: "tercet-relayer", key: "DATABASE_URL" },
      MASTER_KEYS: { name: "tercet-relayer", key: "MASTER_KEYS" },
    },
  },
};

/** Values that make a service run on PostgreSQL, but for the keys. */
function keyless(service: string): string {
  return `${service}.enabled=true,${service}.store=postgres,` +
    `${service}.env.DATABASE_URL=postgres://${service}@db/${service}`;
}

/** Values that are refused, one fault each, with a part of what is said. */
const REFUSED: readonly (readonly [value: string, reason: string])[] = [
  ["ratelimit.replica=3", "invalid propertyName 'replica'"],
  ["ratelimit.env.KVSTORE_AUTH=secret", "invalid propertyName 'KVSTORE_AUTH'"],
  ["ratelimit.env.KVSTORE_URL=redis://a:b@redis", "does not match pattern"],
  ["ratelimit.env.PORT=80", "invalid propertyName 'PORT'"],
  ["ratelimit.env.WORKERS=2", "got number, want null or string"],
  ["ratelimit.env.KVSTORE_URL=null", "Cannot count with several replicas"],
  ["ratelimit.rules.edge=a", "does not match pattern"],
  ["image=", "minLength"],
  ["tasks.replicas=2", "replicas"],
  ["tasks.env.STORE=postgres", "invalid propertyName 'STORE'"],
  [
    "tasks.env.DATABASE_URL=postgres://a:b@db/tasks",
    "does not match pattern",
  ],
  ["tasks.enabled=true,tasks.store=postgres", "without a database"],
  [keyless("tasks"), "master key of its own"],
  ["relayer.replicas=2", "replicas"],
  ["relayer.enabled=true,relayer.store=postgres", "relayer on PostgreSQL"],
  [keyless("relayer"), "master key of its own"],
];

Deno.test({
  name: "the chart for Kubernetes",
  timeout: TIMEOUT_MS,
  fn: async (test) => {
    await using project = await NpmProject.make();
    const [tools] = await Promise.all([
      KubernetesTools.fetch(),
      project.install(...PACKAGES),
    ]);
    await using _tools = tools;
    const chosen: string[][] = [[]];
    for (const [index, values] of [ALL_VALUES, SHARED_VALUES].entries()) {
      await project.write(`values_${index}.json`, JSON.stringify(values));
      chosen.push(["--values", `${project.folder}/values_${index}.json`]);
    }

    await test.step("has no fault that Helm finds", async () => {
      for (const given of chosen) {
        await tools.helm("lint", "--strict", "--quiet", CHART, ...given);
      }
    });
    await test.step("makes the manifests that are there", async () => {
      for (const name of MANIFEST_NAMES) {
        assertEquals(
          await renderManifest(tools, name),
          await Deno.readTextFile(`${MANIFESTS}/${name}`),
          `${name}: run deno task manifests`,
        );
      }
    });
    await test.step("makes objects of the types of the API", async () => {
      const rendered = await Promise.all(
        chosen.map((given) => tools.helm("template", "a", CHART, ...given)),
      );
      const built = await tools.kubectl("kustomize", MANIFESTS);
      const monitors = await Deno.readTextFile(
        `${MANIFESTS}/pod_monitors.yaml`,
      );
      const objects = [...rendered, built, monitors].flatMap((text) =>
        treesIn(text, "the objects")
      );
      assertEquals(kindsIn(objects), Object.keys(TYPES));
      await project.write("objects.ts", checkedModule(objects));
      await project.run("node_modules/.bin/tsc", [
        ...["--noEmit", "--strict", "--skipLibCheck"],
        ...["--module", "esnext", "--moduleResolution", "bundler"],
        "objects.ts",
      ]);
    });
    for (const [value, reason] of REFUSED) {
      await test.step(`refuses ${value}`, async () => {
        await assertRejects(
          () => tools.helm("template", "a", CHART, "--set", value),
          Error,
          reason,
        );
      });
    }
  },
});

function kindsIn(objects: readonly Tree[]): readonly string[] {
  return [...new Set(objects.map(({ kind }) => String(kind)))].sort();
}

/**
 * Returns a module that has each object as a literal of its type, which must
 * have no further fields; the last one has one, so that it is known that the
 * compiler looks.
 */
function checkedModule(objects: readonly Tree[]): string {
  const imports = Object.entries(TYPES).map(([kind, from]) => {
    const name = from.endsWith(kind) ? `I${kind} as ${kind}` : kind;
    return `import type { ${name} } from "${from}";`;
  });
  const literals = objects.map((one, index) =>
    `export const one${index}: ${one.kind} = ${JSON.stringify(one)};`
  );
  return [
    ...imports,
    ...literals,
    "// @ts-expect-error: a field that there is not",
    'export const odd: Service = { spec: { ports: [{ port: 1, a: "b" }] } };',
  ].join("\n");
}
