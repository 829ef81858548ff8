import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { gunzipSync } from "node:zlib";
import { Profile } from "npm:pprof-format@^2.3.2";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

Deno.test("ratelimit shows what it does: a CPU profile in two forms and a heap snapshot", async () => {
  await using folder = await ConfigFolder.make();
  await folder.write("rules.yaml", dailyRule("a", { key: "k", limit: 1 }));
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root },
  });
  const url = `${service.debugUrl}/debug/pprof`;
  const first = fetch(`${url}/profile?seconds=1`);
  const load = setInterval(() => {
    fetch(`${service.debugUrl}/stats`).then((answer) => answer.body?.cancel());
  }, 5);
  const answer = await first;
  clearInterval(load);
  assertEquals(answer.status, 200);
  const profile = Profile.decode(
    gunzipSync(new Uint8Array(await answer.arrayBuffer())),
  );
  const names = profile.function.map(({ name }) =>
    profile.stringTable.strings[Number(name)]
  );
  assert(profile.sample.length > 0);
  assert(names.length > 3, String(names));

  const devTools = await fetch(`${url}/profile?seconds=1&format=cpuprofile`);
  const { nodes, samples } = await devTools.json();
  assertEquals([nodes[0].callFrame.functionName, samples.length > 0], [
    "(root)",
    true,
  ]);

  const heap = await (await fetch(`${url}/heap`)).json();
  assert(heap.snapshot.node_count > 1_000, String(heap.snapshot.node_count));
  // Nothing of the profiler delays the stop.
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit ends a profile when it stops, and takes one at a time", async () => {
  await using service = await startRatelimit({
    env: { FORCE_START_WITHOUT_INITIAL_CONFIG: "true" },
  });
  const url = `${service.debugUrl}/debug/pprof/profile?seconds=300`;
  const running = fetch(url);
  // Whichever of the two requests arrives first gets the profile, and the other
  // one is refused.
  const second = await Promise.race([running, fetch(url)]);
  assertEquals(second.status, 409);
  assertStringIncludes((await second.json()).detail, "another one");
  const stopped = service.stop();
  assertEquals(await stopped, 0);
  await running.then((answer) => answer.body?.cancel(), () => {});
});

Deno.test("ratelimit shows its debug pages to other machines only when DEBUG_ALLOW_REMOTE is true", async () => {
  const address = await outerAddress();
  // Without another address the test cannot act as another machine.
  const host = address ?? "127.0.0.1";
  for (const allowed of ["false", "true"]) {
    await using service = await serveHere({
      DEBUG_HOST: "0.0.0.0",
      DEBUG_ALLOW_REMOTE: allowed,
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
    });
    const { port } = new URL(service.debugUrl);
    const answer = await fetch(`http://${host}:${port}/`);
    await answer.body?.cancel();
    const isOpen = allowed === "true" || address === undefined;
    assertEquals([allowed, answer.status], [allowed, isOpen ? 200 : 403]);
    const local = await fetch(`http://127.0.0.1:${port}/`);
    await local.body?.cancel();
    assertEquals(local.status, 200);
    assertEquals(await service.stop(), 0);
  }
});

/**
 * Returns an IPv4 address of this machine that is not a loopback address. Node
 * is asked for it, since the tests have no permission to query the system.
 */
async function outerAddress(): Promise<string | undefined> {
  const { stdout } = await new Deno.Command("node", {
    args: [
      "-p",
      "Object.values(os.networkInterfaces()).flat()" +
      ".find((one) => one.family === 'IPv4' && !one.internal)?.address ?? ''",
    ],
  }).output();
  const address = new TextDecoder().decode(stdout).trim();
  return address === "" ? undefined : address;
}
