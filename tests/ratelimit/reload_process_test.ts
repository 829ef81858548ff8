import { assert, assertEquals } from "@std/assert";
import { makePipe } from "../support/make_pipe.ts";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { readStat, request } from "./http_caller.ts";
import { dailyRule } from "./requests.ts";
import { limitInForce, waitForLimit } from "./rules_in_force.ts";

const SUCCESSES = "ratelimit.service.config_load_success";
const ERRORS = "ratelimit.service.config_load_error";

function rule(domain: string, limit: number): string {
  return dailyRule(domain, { key: "user", limit });
}

Deno.test("ratelimit reloads when its root is swapped and on SIGHUP", async (t) => {
  await using folder = await ConfigFolder.make();
  const first = await folder.makeRoot("v1", { "a.yaml": rule("a", 1) });
  const second = await folder.makeRoot("v2", { "a.yaml": rule("a", 2) });
  const current = `${folder.base}/current`;
  await folder.swapLink(current, first);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: current },
  });
  const place = { domain: "a", key: "user" };
  assertEquals(await limitInForce(service.httpUrl, place), 1);

  await t.step("a swap of the root brings in the new rules", async () => {
    await folder.swapLink(current, second);
    await waitForLimit(service.httpUrl, place, 2);
    assertEquals(await readStat(service.debugUrl, SUCCESSES), 2);
    const { text } = await request(`${service.debugUrl}/rlconfig`);
    assert(text.startsWith("a.user: unit=DAY requests_per_unit=2"), text);
  });

  await t.step("SIGHUP brings in files edited in place", async () => {
    await Deno.writeTextFile(`${second}/config/a.yaml`, rule("a", 3));
    service.signal("SIGHUP");
    await waitForLimit(service.httpUrl, place, 3);
    assertEquals(await readStat(service.debugUrl, SUCCESSES), 3);
  });

  await t.step("a second swap is seen as well", async () => {
    await folder.swapLink(current, first);
    await waitForLimit(service.httpUrl, place, 1);
    assertEquals(await readStat(service.debugUrl, SUCCESSES), 4);
  });
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit reloads when files are edited or a ConfigMap is swapped", async (t) => {
  await using folder = await ConfigFolder.make({ "edited.yaml": rule("e", 1) });
  const config = `${folder.root}/config`;
  // The layout of a mounted ConfigMap.
  for (const version of [1, 2, 3]) {
    await Deno.mkdir(`${config}/..v${version}`);
    await Deno.writeTextFile(
      `${config}/..v${version}/mounted.yaml`,
      rule("m", version),
    );
  }
  await Deno.symlink("..v1", `${config}/..data`);
  await Deno.symlink("..data/mounted.yaml", `${config}/mounted.yaml`);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, RUNTIME_WATCH_ROOT: "false" },
  });
  const { httpUrl, debugUrl } = service;
  const edited = { domain: "e", key: "user" };
  const mounted = { domain: "m", key: "user" };
  assertEquals(await limitInForce(httpUrl, edited), 1);
  assertEquals(await limitInForce(httpUrl, mounted), 1);

  await t.step("a file is edited", async () => {
    await folder.write("edited.yaml", rule("e", 2));
    await waitForLimit(httpUrl, edited, 2);
  });

  await t.step("a ConfigMap is swapped twice", async () => {
    await folder.swapLink(`${config}/..data`, "..v2");
    await waitForLimit(httpUrl, mounted, 2);
    await folder.swapLink(`${config}/..data`, "..v3");
    await waitForLimit(httpUrl, mounted, 3);
    assertEquals(await limitInForce(httpUrl, edited), 2);
  });

  await t.step("a file is added and removed", async () => {
    const added = { domain: "added", key: "user" };
    await folder.write("added.yaml", rule("added", 5));
    await waitForLimit(httpUrl, added, 5);
    await Deno.remove(`${config}/added.yaml`);
    await waitForLimit(httpUrl, added, undefined);
  });

  await t.step("a bad file leaves the old rules in force", async () => {
    assertEquals(await readStat(debugUrl, ERRORS), 0);
    await folder.write(
      "edited.yaml",
      rule("e", 9).replace("unit: day", "unit: fortnight"),
    );
    const line = await service.waitForLine("Cannot load configuration");
    assert(line.includes("level=error"), line);
    assert(line.includes("edited.yaml:5: "), line);
    assert(line.includes("fortnight"), line);
    assert(line.includes("stay in force"), line);
    assertEquals(await readStat(debugUrl, ERRORS), 1);
    assertEquals(await limitInForce(httpUrl, edited), 2);
    assertEquals(await limitInForce(httpUrl, mounted), 3);
  });

  await t.step("the mended file comes into force", async () => {
    await folder.write("edited.yaml", rule("e", 9));
    await waitForLimit(httpUrl, edited, 9);
    assertEquals(await readStat(debugUrl, ERRORS), 1);
  });

  await t.step("a domain in two files is refused", async () => {
    await folder.write("twin.yaml", rule("e", 4));
    await waitUntil(async () => await readStat(debugUrl, ERRORS) === 2, {
      what: "the refusal",
    });
    assertEquals(await limitInForce(httpUrl, edited), 9);
  });
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit sees changes and ends on SIGTERM although the folder holds pipes and devices", async () => {
  await using folder = await ConfigFolder.make({ "edited.yaml": rule("e", 1) });
  const config = `${folder.root}/config`;
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, RUNTIME_WATCH_ROOT: "false" },
  });
  const edited = { domain: "e", key: "user" };
  const names = ["pipe", "pipe.yaml", "edited.yaml.swp"];
  for (const [at, name] of names.entries()) {
    makePipe(`${config}/${name}`);
    await folder.write("edited.yaml", rule("e", 10 + at));
    await waitForLimit(service.httpUrl, edited, 10 + at);
  }
  await Deno.symlink("pipe", `${config}/link.yaml`);
  await Deno.symlink("/dev/zero", `${config}/zero.yaml`);
  await folder.write("edited.yaml", rule("e", 20));
  await waitForLimit(service.httpUrl, edited, 20);
  await service.waitForLine('Ignored file \\"zero.yaml\\"');
  const told = service.lines.filter((line) => line.includes("named pipe"));
  assertEquals(told.length, 1, told.join("\n"));
  assertEquals(await service.stop(), 0);
});
