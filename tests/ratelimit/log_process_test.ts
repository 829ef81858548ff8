import { assert, assertEquals, assertMatch } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { postJson } from "./http_caller.ts";
import { dailyRule } from "./requests.ts";

async function collectLines(
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  await using folder = await ConfigFolder.make();
  await folder.write("rules.yaml", dailyRule("shop", { key: "k", limit: 1 }));
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, ...env },
  });
  for (let call = 0; call < 3; call++) {
    const answer = await postJson(service.httpUrl, "{");
    assertEquals(answer.status, 400);
  }
  assertEquals(await service.stop(), 0);
  return service.stderr.split("\n").filter((line) => line !== "");
}

Deno.test("ratelimit logs text of the form of the spec, and failed calls once at warning", async () => {
  const lines = await collectLines({});
  const own = lines.filter((line) => line.startsWith("time="));
  for (const line of own) {
    assertMatch(line, /^time="\d{4}-\S+Z" level=(info|warning|error) msg=".+"/);
  }
  const listening = own.filter((line) => line.includes("Listening for"));
  assertEquals(
    listening.map((line) => /Listening for (\w+)/.exec(line)?.[1]).sort(),
    ["HTTP", "debug", "gRPC"],
  );
  const ofInfo = own.filter((line) => line.includes(" level=info "));
  assertEquals(ofInfo, listening);
  const refused = own.filter((line) => line.includes("Refused a request"));
  assertEquals(refused.length, 1);
  assert(refused[0]?.includes("level=warning"));
});

Deno.test("ratelimit logs JSON, with a line for each domain and descriptor, when LOG_FORMAT and LOG_LEVEL say so", async () => {
  const lines = await collectLines({ LOG_FORMAT: "json", LOG_LEVEL: "debug" });
  const own = lines.filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
  for (const line of own) {
    assertMatch(line["@timestamp"], /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z$/);
    assertEquals(typeof line["@message"], "string");
    assertMatch(line.level, /^(debug|info|warning|error)$/);
  }
  const loaded = own.filter((line) =>
    /^Loaded (domain|descriptor)$/.test(line["@message"])
  ).map(({ domain, descriptor, limit }) => [domain ?? descriptor, limit]);
  assertEquals(loaded, [
    ["shop", undefined],
    [
      "shop.k",
      "unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false",
    ],
  ]);
  const refused = own.filter((line) =>
    line["@message"].startsWith("Refused a request")
  );
  assertEquals(refused.map(({ level }) => level), [
    "warning",
    "debug",
    "debug",
  ]);
});
