import { assert, assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { readStat } from "./http_caller.ts";
import { dailyRule } from "./requests.ts";
import { limitInForce, waitForLimit } from "./rules_in_force.ts";

const ERRORS = "ratelimit.service.config_load_error";
const PLACE = { domain: "kept", key: "user" };

/** Nested so deeply that a recursive parser would run out of stack. */
const BOTTOMLESS = `domain: d\ndescriptors: ${"[".repeat(200_000)}\n`;

Deno.test("ratelimit waits with its ports for rules that can be parsed, however deep they nest", async () => {
  await using folder = await ConfigFolder.make({ "deep.yaml": BOTTOMLESS });
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
    },
  });
  const line = await service.waitForLine("Cannot load configuration");
  assert(line.includes("deep.yaml"), line);
  assertEquals(await readStat(service.debugUrl, ERRORS), 1);
});

Deno.test("ratelimit names and counts a file that nests without end, and goes on", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": dailyRule("kept", { key: "user", limit: 5 }),
  });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, RUNTIME_WATCH_ROOT: "false" },
  });
  await folder.write("deep.yaml", BOTTOMLESS);
  const line = await service.waitForLine("Cannot ");
  assert(line.includes("deep.yaml"), line);
  await waitUntil(
    async () => await readStat(service.debugUrl, ERRORS) === 1,
    { what: "one failed load" },
  );
  assertEquals(await limitInForce(service.httpUrl, PLACE), 5);
  await folder.write("deep.yaml", "domain: mended\n");
  await folder.write(
    "rules.yaml",
    dailyRule("kept", { key: "user", limit: 6 }),
  );
  await waitForLimit(service.httpUrl, PLACE, 6);
});
