import { assert, assertEquals } from "@std/assert";
import { HEALTH_PLACES } from "../../services/cli/health.ts";
import { loadRules } from "../../services/ratelimit/rules/load.ts";
import {
  durationMs,
  type ServiceName,
  SERVICES,
  settingFault,
  settingNamesWhere,
  SETTINGS,
  stopMs,
} from "./service_settings.ts";
import { readText, readTrees, toList, toTree, type Tree } from "./yaml_tree.ts";

// What Helm makes of the chart is tried by `deno task test:kubernetes`; here the
// manifests that it has made are held to the code.

const FOLDER = "deploy/kubernetes";

/** Paths at which a service answers whatever its health is. */
const LIVE_PATHS: Readonly<Record<ServiceName, string>> = {
  ratelimit: "/openapi.json",
  tasks: "/healthz",
  relayer: "/version",
  keyserver: "/health",
};

/** The manifests, with the services that they run. */
const MANIFESTS: readonly (readonly [ServiceName, file: string])[] = [
  ...SERVICES.map((service) => [service, service] as const),
  ["tasks", "tasks_on_postgresql"],
  ["relayer", "relayer_on_postgresql"],
];

/** The objects of a manifest, by their kinds. */
async function readObjects(
  file: string,
): Promise<ReadonlyMap<unknown, Tree>> {
  const trees = await readTrees(`${FOLDER}/manifests/${file}.yaml`);
  return new Map(trees.map((tree) => [tree.kind, tree]));
}

/** Returns what is at a path of maps, and of lists by the names of items. */
function at(tree: unknown, path: string): unknown {
  return path.split(".").reduce((found: unknown, step) => {
    if (!Array.isArray(found)) return toTree(found, path)[step];
    return found.find((one) => toTree(one, path).name === step);
  }, tree);
}

/** A pod of a service, with the maps in it that tests ask for. */
interface Pod {
  readonly service: ServiceName;
  readonly objects: ReadonlyMap<unknown, Tree>;
  readonly spec: Tree;
  readonly containers: readonly Tree[];
  /** The ports of the container that serves, by their names. */
  readonly ports: Readonly<Record<string, number>>;
}

async function readPods(): Promise<readonly Pod[]> {
  return await Promise.all(MANIFESTS.map(async ([service, file]) => {
    const objects = await readObjects(file);
    const workload = objects.get("Deployment") ?? objects.get("StatefulSet");
    const spec = toTree(at(workload, "spec.template.spec"), service);
    const listed = ["initContainers", "containers"].flatMap((key) =>
      toList(spec[key], service)
    );
    const containers = listed.map((one) => toTree(one, service));
    const ports = toList(at(containers, `${service}.ports`), service)
      .map((port) => [at(port, "name"), at(port, "containerPort")]);
    return {
      service,
      objects,
      spec,
      containers,
      ports: Object.fromEntries(ports),
    };
  }));
}

/** Returns the variables of a container; those of Secrets are undefined. */
function readVariables(
  container: Tree,
): readonly (readonly [name: string, value: string | undefined])[] {
  return toList(container.env, "env").map((one) => {
    const { name, value } = toTree(one, "a variable");
    return [String(name), value === undefined ? undefined : String(value)];
  });
}

Deno.test("pods of the manifests run without rights, without root and on a disk that is read-only", async () => {
  const containerfile = await readText("Containerfile");
  const [, user] = /^USER (\d+):\1$/m.exec(containerfile) ?? [];
  for (const { service, spec, containers } of await readPods()) {
    assertEquals(spec.securityContext, {
      runAsNonRoot: true,
      runAsUser: Number(user),
      runAsGroup: Number(user),
      fsGroup: Number(user),
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    }, service);
    assertEquals(spec.automountServiceAccountToken, false, service);
    assertEquals(spec.enableServiceLinks, false, service);
    for (const { securityContext, resources, command } of containers) {
      assertEquals(securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      }, service);
      assert(at(resources, "limits.memory"), service);
      assertEquals(command, undefined, service);
    }
  }
});

Deno.test("pods of the manifests get settings that they have, with values that they take, and no secrets", async () => {
  const secrets = settingNamesWhere(({ secret }) => secret);
  for (const { service, containers } of await readPods()) {
    for (const [name, value] of containers.flatMap(readVariables)) {
      assertEquals(settingFault(service, name, value), undefined);
      const isShown = value !== undefined && !name.endsWith("_URL");
      assert(!isShown || !secrets.includes(name), name);
    }
  }
});

Deno.test("probes of the manifests ask where services tell their health", async () => {
  for (const { service, containers, ports } of await readPods()) {
    const place = HEALTH_PLACES[service];
    assertEquals(ports.http, place?.listens.port.fallback, service);
    const asked = (probe: string) => {
      const got = at(containers, `${service}.${probe}.httpGet`);
      return [at(got, "port"), at(got, "path")];
    };
    assertEquals(asked("readinessProbe"), ["http", place?.path]);
    for (const probe of ["startupProbe", "livenessProbe"]) {
      assertEquals(asked(probe), ["http", LIVE_PATHS[service]]);
    }
  }
});

Deno.test("Services, policies and monitors of the manifests find the pods and their ports", async () => {
  const monitors = await readTrees(`${FOLDER}/manifests/pod_monitors.yaml`);
  for (const { service, objects, ports } of await readPods()) {
    const workload = objects.get("Deployment") ?? objects.get("StatefulSet");
    const labels = at(workload, "spec.template.metadata.labels");
    assertEquals(at(workload, "spec.selector.matchLabels"), labels, service);
    assertEquals(at(objects.get("Service"), "spec.selector"), labels, service);
    const selecting = [
      at(objects.get("NetworkPolicy"), "spec.podSelector"),
      at(monitors[SERVICES.indexOf(service)], "spec.selector"),
    ];
    assertEquals(selecting, selecting.map(() => ({ matchLabels: labels })));
    const served = toList(at(objects.get("Service"), "spec.ports"), service)
      .map((port) => [at(port, "targetPort"), at(port, "port")]);
    const { metrics, ...others } = ports;
    assertEquals(Object.fromEntries(served), others, service);
    assert(metrics !== undefined, service);
    const open = toList(at(objects.get("NetworkPolicy"), "spec.ingress"), "")
      .map((rule) =>
        toList(at(rule, "ports"), "").map((one) => at(one, "port"))
      );
    assertEquals(open, [Object.keys(others), ["metrics"]], service);
  }
});

Deno.test("metrics of the manifests are where services have them", async () => {
  const { pullmetricsAddr } = SETTINGS.ratelimit;
  for (const { service, ports, containers } of await readPods()) {
    const set = Object.fromEntries(containers.flatMap(readVariables));
    const port = service === "ratelimit"
      ? Number(pullmetricsAddr.fallback.slice(1))
      : SETTINGS[service].metricsPort.fallback;
    assertEquals(ports.metrics, port, service);
    const isOpen = service === "ratelimit"
      ? set.USE_PULLMETRICS === "true"
      : set.METRICS_HOST === "0.0.0.0";
    assert(isOpen, service);
  }
});

Deno.test("a pod of the manifests has as long to stop as its service may take", async () => {
  for (const { service, spec, containers } of await readPods()) {
    const set = Object.fromEntries(containers.flatMap(readVariables));
    const seconds = Number(spec.terminationGracePeriodSeconds);
    assert(seconds * 1_000 > stopMs(service, set), service);
  }
});

Deno.test("ratelimit of the manifests loads the rules of its ConfigMap, and can be drained", async () => {
  const [pod] = await readPods();
  assert(pod !== undefined);
  const rules = pod.objects.get("ConfigMap");
  const files = Object.entries(toTree(rules?.data, "rules"))
    .map(([name, text]) => ({ name, text: String(text) }));
  const { faults, warnings, snapshot } = loadRules(files);
  assertEquals([...faults, ...warnings], []);
  assertEquals(snapshot?.rules.length, 1);
  const { runtimeRoot, runtimeAppDirectory } = SETTINGS.ratelimit;
  assertEquals(
    at(pod.containers, "ratelimit.volumeMounts.rules.mountPath"),
    `${runtimeRoot.fallback}/${runtimeAppDirectory.fallback}`,
  );
  assertEquals(
    at(pod.spec.volumes, "rules.configMap.name"),
    at(rules, "metadata.name"),
  );
  assert(pod.objects.has("PodDisruptionBudget"));
});

Deno.test("services with data run once, on a volume of their own", async () => {
  for (const { service, objects, containers } of await readPods()) {
    if (objects.has("Deployment")) continue;
    const workload = objects.get("StatefulSet");
    assertEquals(at(workload, "spec.replicas"), 1, service);
    const mount = at(containers, `${service}.volumeMounts.data.mountPath`);
    assertEquals(mount, "/var/lib/tercet");
    const [claim] = toList(at(workload, "spec.volumeClaimTemplates"), service);
    assertEquals(at(claim, "metadata.name"), "data");
    const set = Object.fromEntries(containers.flatMap(readVariables));
    assertEquals(set.DATA_DIR, `${mount}/data`);
    assertEquals(objects.has("PodDisruptionBudget"), false);
  }
});

Deno.test("services on PostgreSQL run several times, are replaced one after the other, and keep nothing in their pods", async () => {
  const pods = await readPods();
  const shared = pods.filter(({ service, objects }) =>
    service !== "ratelimit" && objects.has("Deployment")
  );
  assertEquals(shared.map(({ service }) => service), ["tasks", "relayer"]);
  for (const { service, objects, containers } of shared) {
    const workload = objects.get("Deployment");
    assertEquals(at(workload, "spec.replicas"), 3);
    assertEquals(at(workload, "spec.strategy.rollingUpdate"), {
      maxUnavailable: 0,
      maxSurge: 1,
    });
    const budget = objects.get("PodDisruptionBudget");
    assertEquals(at(budget, "spec.maxUnavailable"), 1);
    assertEquals(
      at(budget, "spec.selector.matchLabels"),
      at(workload, "spec.selector.matchLabels"),
    );
    const mounts = toList(at(containers, `${service}.volumeMounts`), "mounts");
    assertEquals(mounts, [{ name: "tmp", mountPath: "/tmp" }]);
    const set = Object.fromEntries(containers.flatMap(readVariables));
    assertEquals([set.STORE, set.DATA_DIR], ["postgres", "/tmp/data"]);
    // From Secrets, so their values are not shown.
    for (const name of ["DATABASE_URL", "MASTER_KEYS"]) {
      assert(name in set && set[name] === undefined, name);
    }
    // It answers for longer than the kubelet needs to find that it does not want
    // requests.
    const probe = at(containers, `${service}.readinessProbe`);
    const noticedMs = 1_000 * Number(at(probe, "periodSeconds")) *
      Number(at(probe, "failureThreshold"));
    assert(durationMs(set.SHUTDOWN_DRAIN_DELAY) > noticedMs);
    // One pod would gain nothing by it.
    const alone = pods.find((pod) => pod.service === service);
    const variables = alone?.containers.flatMap(readVariables) ?? [];
    assert(variables.every(([name]) => name !== "SHUTDOWN_DRAIN_DELAY"));
  }
});

Deno.test("settings that gateways are said to pass are there, but for the one that is said to be none", async () => {
  const page = await readText("docs/how-to/kubernetes_gateways.md");
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const named = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([A-Z_]+)`/g)]
      .map(([, name = ""]) => name)
  );
  assertEquals(named.length, 34);
  const all = settingNamesWhere(() => true);
  assertEquals(
    named.filter((name) => !all.includes(name)),
    ["GRPC_SERVER_TLS_CA_CERT"],
  );
});
