import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isTarget } from "../../scripts/build/targets.ts";
import { HEALTH_PLACES } from "../../services/cli/health.ts";
import { keyServerSettings } from "../../services/keyserver/settings.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import { relayerSettings } from "../../services/relayer/settings.ts";
import { tasksSettings } from "../../services/tasks/settings.ts";
import {
  durationMs,
  type ServiceName,
  SERVICES,
  settingFault,
  stopMs,
} from "./service_settings.ts";
import {
  PROJECT,
  readText,
  readTree,
  toTexts,
  toTree,
  toTrees,
  type Tree,
} from "./yaml_tree.ts";

/**
 * The ports on which each service listens and which clients or a proxy have to
 * reach.
 */
const PORTS = {
  ratelimit: [
    rateLimitSettings.port.fallback,
    rateLimitSettings.grpcPort.fallback,
  ],
  tasks: [tasksSettings.port.fallback],
  relayer: [relayerSettings.port.fallback],
  keyserver: [keyServerSettings.port.fallback],
} satisfies Readonly<Record<string, readonly number[]>>;

const ENVOY_FILE = "services/ratelimit/example/envoy/envoy.yaml";

async function readServices(): Promise<ReadonlyMap<string, Tree>> {
  return new Map(toTrees((await readTree("compose.yaml")).services, "compose"));
}

/** Returns the services of compose.yaml that run this project's image. */
async function readOwn(): Promise<readonly (readonly [ServiceName, Tree])[]> {
  const services = await readServices();
  return SERVICES.flatMap((name) => {
    const service = services.get(name);
    return service?.build === undefined ? [] : [[name, service] as const];
  });
}

/**
 * Returns the instructions of the Containerfile, with continued lines joined.
 */
async function readInstructions(): Promise<readonly string[]> {
  const text = (await readText("Containerfile")).replaceAll(/^#.*\n/gm, "");
  return text.replaceAll(/\\\n\s*/g, "").split("\n");
}

async function finalStage(): Promise<readonly string[]> {
  const lines = await readInstructions();
  return lines.slice(lines.findLastIndex((line) => line.startsWith("FROM ")));
}

Deno.test("the image is built by the Deno of .deno-version, for targets that there are", async () => {
  const text = (await readInstructions()).join("\n");
  assertStringIncludes(text, "deno@$(cat .deno-version)");
  const targets = [...text.matchAll(/target=(\S+)/g)].map(([, name]) => name);
  assertEquals(targets.length, 2);
  assert(targets.every((name) => isTarget(name ?? "")));
});

Deno.test("the image holds no more than it needs, is not root, and opens the ports of the services", async () => {
  const stage = await finalStage();
  assert(stage.includes("USER 65532:65532"));
  assert(stage.every((line) => !line.startsWith("RUN ")));
  const exposed = stage.find((line) => line.startsWith("EXPOSE "));
  assertEquals(
    exposed?.split(" ").slice(1).map(Number),
    Object.values(PORTS).flat(),
  );
  const folder = "/var/lib/tercet";
  assert(stage.includes(`VOLUME ${folder}`));
  assert(stage.some((line) => line.includes(`DATA_DIR=${folder}`)));
  assert(stage.some((line) => line.includes('image.revision="$REVISION"')));
});

Deno.test("the image has ratelimit where manifests of envoyproxy/ratelimit call it", async () => {
  const text = (await readInstructions()).join("\n");
  assertStringIncludes(text, "ln -s /usr/local/bin/tercet /out/bin/ratelimit");
  assert((await finalStage()).includes("COPY --from=build /out/bin/ /bin/"));
});

Deno.test("both files of what is left out of the image say the same, and let in what is copied", async () => {
  const rules = async (path: string) =>
    (await readText(path)).split("\n").filter((line) => !line.startsWith("#"));
  const ignored = await rules(".containerignore");
  assertEquals(ignored, await rules(".dockerignore"));
  for (const name of [".deno-version", "LICENSE", "deno.json", "deno.lock"]) {
    assert(ignored.includes(`!${name}`), name);
  }
  for (const line of ignored.filter((line) => line.startsWith("!"))) {
    await Deno.stat(PROJECT + line.slice(1));
  }
});

Deno.test("containers have no rights, no root and no disk to write to but volumes", async () => {
  for (const [name, service] of await readServices()) {
    assertEquals(service.read_only, true, name);
    assertEquals(service.cap_drop, ["ALL"], name);
    assertEquals(service.security_opt, ["no-new-privileges:true"], name);
    assertEquals(service.privileged, undefined, name);
    assert(toTexts(service.tmpfs, name).includes("/tmp"), name);
    if (service.build !== undefined) continue;
    assert(!/^(undefined|root|0)(:|$)/.test(String(service.user)), name);
    assert(/:[^:]*\d[^:]*$/.test(String(service.image)), name);
  }
});

Deno.test("volumes that are mounted are there, the data folder among them", async () => {
  const { volumes } = await readTree("compose.yaml");
  const mounted: string[] = [];
  for (const [name, service] of await readServices()) {
    for (const text of toTexts(service.volumes, name)) {
      const [from = "", to, mode] = text.split(":");
      if (from.startsWith("./")) {
        await Deno.stat(PROJECT + from);
        assertEquals(mode, "ro", `${name}: ${text}`);
      } else {
        assertEquals(to, "/var/lib/tercet", `${name}: ${text}`);
        mounted.push(from);
      }
    }
  }
  assertEquals(mounted, Object.keys(toTree(volumes, "volumes")));
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

Deno.test("what is published is on loopback, and the port of its service", async () => {
  const ports: Record<string, readonly number[]> = {};
  for (const [name, service] of await readServices()) {
    const published = toTexts(service.ports, name).map((text) => {
      const [, host, container] = /^127\.0\.0\.1:(\d+):(\d+)$/.exec(text) ?? [];
      assertEquals(host, container, `${name}: ${text}`);
      return Number(container);
    });
    if (published.length > 0) ports[name] = published;
  }
  const { tasks, relayer } = PORTS;
  assertEquals(ports, { envoy: [10_000], tasks, relayer });
  assertStringIncludes(await readText(ENVOY_FILE), "port_value: 10000");
  const page = await readText("docs/how-to/run_in_containers.md");
  for (const port of Object.values(ports).flat()) {
    assertStringIncludes(page, `\`127.0.0.1:${port}\``);
  }
});

Deno.test("services get settings that they have, and values that they take", async () => {
  for (const [name, service] of await readOwn()) {
    assertEquals(service.command, [name]);
    const set = Object.entries(toTree(service.environment, name));
    for (const [variable, value] of set) {
      const text = String(value);
      const given = text.startsWith("${") ? undefined : text;
      assertEquals(settingFault(name, variable, given), undefined);
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

Deno.test("healthchecks ask what is there, and start waits for health that is checked", async () => {
  const services = await readServices();
  for (const [name, service] of await readOwn()) {
    const { test } = toTree(service.healthcheck, name);
    assertEquals(test, ["CMD", "/usr/local/bin/tercet", "health", name]);
  }
  assert(
    (await finalStage()).some((line) =>
      line.startsWith("COPY ") && line.endsWith(" /usr/local/bin/tercet")
    ),
  );
  const { test } = toTree(services.get("envoy")?.healthcheck, "envoy");
  assertStringIncludes(String(test), "/dev/tcp/127.0.0.1/9901");
  assertStringIncludes(await readText(ENVOY_FILE), "port_value: 9901");
  for (const [name, service] of services) {
    for (const [needed, how] of toTrees(service.depends_on, name)) {
      assert(services.has(needed), `${name}: ${needed}`);
      const isChecked = "healthcheck" in (services.get(needed) ?? {});
      assertEquals(how.condition === "service_healthy", isChecked, needed);
    }
  }
});

Deno.test("tercet health asks where the install script asks", async () => {
  const script = await readText("scripts/vm/install.sh");
  const asked = [...script.matchAll(
    /^([a-z]+) \| .*default_port=(\d+) health_path=(\S+) ;;$/gm,
  )].map(([, name, port, path]) => [name, Number(port), path]);
  const places = Object.entries(HEALTH_PLACES)
    .map(([name, { listens, path }]) => [name, listens.port.fallback, path]);
  assertEquals(asked, places);
});

Deno.test("a container has as long to stop as its service may take", async () => {
  for (const [name, service] of await readOwn()) {
    const needed = stopMs(name, toTree(service.environment, name));
    assert(durationMs(service.stop_grace_period) > needed, name);
  }
});
