import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { HEALTH_PLACES } from "../../services/cli/health.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import { readConnection } from "../../services/shared/postgres/connection.ts";
import { readSettings } from "../../services/shared/settings.ts";
import { signByHand } from "../relayer/hand_signer.ts";
import { relayerSettings } from "../../services/relayer/settings.ts";
import { tasksSettings } from "../../services/tasks/settings.ts";
import {
  type ClusterService,
  COMPOSE_FILES,
  environmentOf,
  GIVEN,
} from "../support/compose_servers.ts";
import {
  durationMs,
  SERVICES,
  settingFault,
  settingNamesWhere,
  SETTINGS,
  stopMs,
} from "./service_settings.ts";
import {
  PROJECT,
  readText,
  readTree,
  toList,
  toTexts,
  toTree,
  toTrees,
  type Tree,
} from "./yaml_tree.ts";

const FILES = ["compose.yaml", ...Object.values(COMPOSE_FILES)];
const FOLDER = "deploy/compose/";
const ENVOY_FILE = "services/ratelimit/example/envoy/envoy.yaml";
const SERVERS = ["postgres1", "postgres2"];

/** The services of which the files start several instances. */
const CLUSTERS = Object.keys(COMPOSE_FILES) as readonly ClusterService[];
const CADDYFILES: Readonly<Record<ClusterService, string>> = {
  tasks: "Caddyfile",
  relayer: "relayer.Caddyfile",
};

function instancesOf(service: ClusterService): readonly string[] {
  return [1, 2, 3].map((number) => `${service}${number}`);
}

async function readServices(
  file = "compose.yaml",
): Promise<ReadonlyMap<string, Tree>> {
  return new Map(toTrees((await readTree(file)).services, file));
}

/** Returns the containers of all files, with the names of their services. */
async function readAll(): Promise<readonly (readonly [string, Tree])[]> {
  const all = await Promise.all(FILES.map(readServices));
  return all.flatMap((services) => [...services]);
}

/** Returns those that run this project's image, with what they run. */
async function readOwn() {
  return (await readAll()).flatMap(([name, service]) => {
    if (service.build === undefined) return [];
    const command = SERVICES.find((one) => name.replace(/\d$/, "") === one);
    assert(command !== undefined, name);
    return [[command, service] as const];
  });
}

/** Returns the value of a line of the Caddyfile. */
function lineOf(caddyfile: string, name: string): string {
  const [, value] = new RegExp(`^\\s+${name} (.+?)(?: \\{)?$`, "m")
    .exec(caddyfile) ?? [];
  assert(value !== undefined, name);
  return value;
}

Deno.test("containers have no rights, no root and no disk to write to but volumes", async () => {
  for (const [name, service] of await readAll()) {
    assertEquals(service.read_only, true, name);
    assertEquals(service.cap_drop, ["ALL"], name);
    // The file capability of its program must not be out of reach.
    const added = name === "caddy" ? ["NET_BIND_SERVICE"] : undefined;
    assertEquals(service.cap_add, added, name);
    assertEquals(service.security_opt, ["no-new-privileges:true"], name);
    assertEquals(service.privileged, undefined, name);
    assert(toTexts(service.tmpfs, name).includes("/tmp"), name);
    if (service.build !== undefined) continue;
    assert(!/^(undefined|root|0)(:|$)/.test(String(service.user)), name);
    assert(/:[^:]*\d[^:]*$/.test(String(service.image)), name);
  }
});

Deno.test("volumes that are mounted are there, the data folder among them", async () => {
  for (const file of FILES) {
    const { volumes } = await readTree(file);
    const folder = file.slice(0, file.lastIndexOf("/") + 1);
    const mounted: string[] = [];
    for (const [name, service] of await readServices(file)) {
      const data = service.build === undefined
        ? toTree(service.environment ?? {}, name).PGDATA
        : "/var/lib/tercet";
      for (const text of toTexts(service.volumes, name)) {
        const [from = "", to, mode] = text.split(":");
        if (from.startsWith("./")) {
          await Deno.stat(PROJECT + folder + from);
          assertEquals(mode, "ro", `${name}: ${text}`);
        } else {
          assertEquals(to, data, `${name}: ${text}`);
          mounted.push(from);
        }
      }
    }
    assertEquals(mounted, Object.keys(toTree(volumes, "volumes")));
  }
});

Deno.test("no container leaves a volume without a name behind", async () => {
  for (const [name, service] of await readOwn()) {
    const mounted = [
      ...toTexts(service.volumes, name).map((text) => text.split(":")[1]),
      ...toTexts(service.tmpfs, name),
    ];
    assert(mounted.includes("/var/lib/tercet"), name);
  }
});

Deno.test("published ports are on loopback, and are those of the services", async () => {
  const ports: (readonly [string, number])[] = [];
  for (const [name, service] of await readAll()) {
    for (const text of toTexts(service.ports, name)) {
      const [, host, container] = /^127\.0\.0\.1:(\d+):(\d+)$/.exec(text) ?? [];
      assertEquals(host, container, `${name}: ${text}`);
      ports.push([name, Number(container)]);
    }
  }
  const tasks = tasksSettings.port.fallback;
  const relayer = relayerSettings.port.fallback;
  assertEquals(ports, [
    ["envoy", 10_000],
    ["tasks", tasks],
    ["relayer", relayer],
    ["caddy", tasks],
    ["caddy", relayer],
  ]);
  assertStringIncludes(await readText(ENVOY_FILE), "port_value: 10000");
  for (const service of CLUSTERS) {
    const caddyfile = await readText(FOLDER + CADDYFILES[service]);
    const port = SETTINGS[service].port.fallback;
    assertStringIncludes(caddyfile, `\n:${port} {`);
  }
  const page = await readText("docs/how-to/run_in_containers.md");
  for (const [, port] of ports) {
    assertStringIncludes(page, `\`127.0.0.1:${port}\``);
  }
});

Deno.test("services get settings that they have, values that they take, and no secret that is known", async () => {
  const secrets = settingNamesWhere(({ secret }) => secret);
  for (const [name, service] of await readOwn()) {
    assertEquals(service.command, [name]);
    const set = Object.entries(toTree(service.environment, name));
    for (const [variable, value] of set) {
      const text = String(value);
      const given = text.startsWith("${") ? undefined : text;
      assertEquals(settingFault(name, variable, given), undefined);
      if (secrets.includes(variable) && !variable.endsWith("_URL")) {
        assert(/^\$\{\w+:\?/.test(text), variable);
      }
    }
  }
});

Deno.test("ratelimit finds its rules and its Redis, and Envoy finds ratelimit and the application", async () => {
  const services = await readServices();
  const ratelimit = toTree(services.get("ratelimit"), "ratelimit");
  const { runtimeRoot, runtimeAppDirectory } = rateLimitSettings;
  const rules = `${runtimeRoot.fallback}/${runtimeAppDirectory.fallback}`;
  assertEquals(ratelimit.volumes, [
    `./services/ratelimit/example/config:${rules}:ro`,
  ]);
  const { KVSTORE_URL } = toTree(ratelimit.environment, "environment");
  assertEquals(KVSTORE_URL, "redis:6379");
  const networks = (name: string) =>
    toTexts(services.get(name)?.networks, name);
  assertEquals(networks("redis"), ["counters"]);
  assertEquals(networks("ratelimit"), ["edge", "counters"]);
  const envoy = await readText(ENVOY_FILE);
  const asked = [...envoy.matchAll(
    /address: ([a-z]+), port_value: (\d+)/g,
  )].map(([, name, port]) => `${name}:${port}`);
  assertEquals(asked, [
    `ratelimit:${rateLimitSettings.grpcPort.fallback}`,
    "app:3000",
  ]);
  assertEquals(services.get("app")?.command, ["--port", "3000"]);
  assertEquals([networks("app"), networks("envoy")], [["edge"], ["edge"]]);
});

Deno.test("instances find both servers, and the servers each other", async () => {
  for (const cluster of CLUSTERS) {
    const services = await readServices(COMPOSE_FILES[cluster]);
    for (const name of instancesOf(cluster)) {
      const env = environmentOf(toTree(services.get(name), name), GIVEN);
      const read = readSettings(
        SETTINGS[cluster],
        (variable) => env[variable],
      );
      assert(read.kind === "ok");
      const outcome = readConnection(read.values, cluster);
      assert(outcome.kind === "ok");
      const { hosts, user, database, tls, password } = outcome.connection;
      assertEquals(hosts, SERVERS.map((host) => ({ host, port: 5432 })));
      assertEquals([user, database, tls], [cluster, cluster, undefined]);
      assertEquals(password, GIVEN[`${cluster.toUpperCase()}_PASSWORD`]);
      const { store, durability, dataDir, masterKeys } = read.values;
      assertEquals([store, durability], ["postgres", "replicated"]);
      assertEquals(masterKeys, GIVEN.MASTER_KEYS);
      assert(dataDir.startsWith("/tmp/"));
    }
    for (const name of SERVERS) {
      const service = toTree(services.get(name), name);
      const set = environmentOf(service, GIVEN);
      assertEquals([set.SERVER, set.OTHER].toSorted(), SERVERS);
      assertEquals([set.SERVER, set.PRIMARY], [name, "postgres1"]);
      assertEquals(set.ROLE, cluster);
      assert(
        toTexts(service.command, name).includes(
          `synchronous_standby_names=ANY 1 (${SERVERS.join(", ")})`,
        ),
      );
      assertEquals(service.networks, ["database"]);
    }
    const { networks } = await readTree(COMPOSE_FILES[cluster]);
    const { database, front } = toTree(networks, "networks");
    assertEquals(database, { internal: true });
    const [config] = toList(
      toTree(toTree(front, "front").ipam, "ipam").config,
      "",
    );
    const [first = ""] = instancesOf(cluster);
    const { TRUSTED_PROXIES } = environmentOf(services.get(first)!, GIVEN);
    assertEquals(toTree(config, "config").subnet, TRUSTED_PROXIES);
  }
});

Deno.test("Caddy finds the instances, and leaves one that stops before its port is closed", async () => {
  for (const cluster of CLUSTERS) {
    const services = await readServices(COMPOSE_FILES[cluster]);
    const caddyfile = await readText(FOLDER + CADDYFILES[cluster]);
    const mounted = toTexts(services.get("caddy")?.volumes, "caddy");
    assert(
      mounted.includes(`./${CADDYFILES[cluster]}:/etc/caddy/Caddyfile:ro`),
    );
    const { port, idleTimeoutMs } = SETTINGS[cluster];
    assertEquals(
      lineOf(caddyfile, "reverse_proxy").split(" "),
      instancesOf(cluster).map((name) => `${name}:${port.fallback}`),
    );
    assertEquals(lineOf(caddyfile, "health_uri"), HEALTH_PLACES[cluster]?.path);
    const [first = ""] = instancesOf(cluster);
    const { SHUTDOWN_DRAIN_DELAY } = environmentOf(
      services.get(first)!,
      GIVEN,
    );
    const noticedMs = durationMs(lineOf(caddyfile, "health_interval")) +
      durationMs(lineOf(caddyfile, "health_timeout"));
    assert(durationMs(SHUTDOWN_DRAIN_DELAY) > noticedMs);
    assert(
      durationMs(lineOf(caddyfile, "keepalive")) < idleTimeoutMs.fallback,
    );
  }
});

Deno.test("Caddy hashes by the header that signed requests name their account in", async () => {
  const caddyfile = await readText(FOLDER + CADDYFILES.relayer);
  assertEquals(lineOf(caddyfile, "lb_policy"), "header x-account-id");
  const page = await readText("docs/how-to/relayers_on_postgresql.md");
  assertStringIncludes(page, "lb_policy header x-account-id");
  assertStringIncludes(page, "hash $http_x_account_id consistent;");
  const headers = signByHand(
    { method: "GET", target: "/", body: "" },
    { key: "00".repeat(32), publicKey: "00".repeat(32), accountId: "0xa" },
  );
  assertEquals(headers["x-account-id"], "0xa");
});

Deno.test("healthchecks ask what is there, and start waits for health that is checked", async () => {
  for (const [name, service] of await readOwn()) {
    const { test } = toTree(service.healthcheck, name);
    assertEquals(test, ["CMD", "/usr/local/bin/tercet", "health", name]);
  }
  const envoy = (await readServices()).get("envoy");
  const { test } = toTree(envoy?.healthcheck, "envoy");
  assertStringIncludes(String(test), "/dev/tcp/127.0.0.1/9901");
  assertStringIncludes(await readText(ENVOY_FILE), "port_value: 9901");
  for (const file of FILES) {
    const services = await readServices(file);
    for (const [name, service] of services) {
      for (const [needed, how] of toTrees(service.depends_on, name)) {
        assert(services.has(needed), `${name}: ${needed}`);
        const isChecked = "healthcheck" in (services.get(needed) ?? {});
        assertEquals(how.condition === "service_healthy", isChecked, needed);
      }
    }
  }
});

Deno.test("a container has as long to stop as its service may take", async () => {
  for (const [name, service] of await readOwn()) {
    const needed = stopMs(name, toTree(service.environment, name));
    assert(durationMs(service.stop_grace_period) > needed, name);
  }
});
