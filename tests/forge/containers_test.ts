import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isTarget } from "../../scripts/build/targets.ts";
import { HEALTH_PLACES } from "../../services/cli/health.ts";
import { keyServerSettings } from "../../services/keyserver/settings.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import { relayerSettings } from "../../services/relayer/settings.ts";
import { tasksSettings } from "../../services/tasks/settings.ts";
import { PROJECT, readText } from "./yaml_tree.ts";

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
  // Where healthchecks of compose files call it.
  assert(
    stage.some((line) => /^COPY .* \/usr\/local\/bin\/tercet$/.test(line)),
  );
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

Deno.test("tercet health asks where the install script asks", async () => {
  const script = await readText("scripts/vm/install.sh");
  const asked = [...script.matchAll(
    /^([a-z]+) \| .*default_port=(\d+) health_path=(\S+) ;;$/gm,
  )].map(([, name, port, path]) => [name, Number(port), path]);
  const places = Object.entries(HEALTH_PLACES)
    .map(([name, { listens, path }]) => [name, listens.port.fallback, path]);
  assertEquals(asked, places);
});
