import { assertEquals, assertStringIncludes } from "@std/assert";
import { ConfigFolder } from "./config_folder.ts";
import { postJson } from "./http_caller.ts";
import { createRequest } from "./requests.ts";
import { runHere, serveHere } from "./service_here.ts";

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2}
    rate_limits:
      - {unit: year, requests_per_unit: 9, algorithm: sliding_window, name: slow}
  - {key: path, rate_limit: {unit: year, requests_per_unit: 1}}
`;

Deno.test("ratelimit counters reads what decisions counted, and resets it", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULES });
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    LOCAL_CACHE_SIZE_IN_BYTES: "1048576",
    LOG_LEVEL: "info",
  });
  const decide = async () =>
    (await postJson(
      service.httpUrl,
      createRequest("shop", { user: "ann" }, { path: "/" }),
    )).status;
  const counters = async (action: string, ...more: readonly string[]) => {
    const { code, stdout, stderr } = await runHere([
      ...["counters", action, "-debug", service.debugUrl, "-domain", "shop"],
      ...["-descriptors", "user=ann", ...more],
    ]);
    assertEquals([code, stderr], [0, ""]);
    return stdout;
  };
  const listUsed = async (action: string) => {
    const { counters: found } = JSON.parse(await counters(action, "-json"));
    return found.map(({ used }: { readonly used: number }) => used);
  };
  assertEquals(await listUsed("get"), [0, 0]);
  assertEquals([await decide(), await decide(), await decide()], [
    200,
    429,
    429,
  ]);
  // What the local cache knows to be over is told as used up.
  assertEquals(await listUsed("get"), [2, 3]);
  assertEquals(await listUsed("reset"), [2, 3]);
  assertEquals(await listUsed("get"), [0, 0]);
  assertStringIncludes(await service.waitForLine("Counters reset"), "shop");
  // The counter of the path was not reset.
  assertEquals(await decide(), 429);
  assertEquals(
    await counters("reset", "-descriptors", "path=/"),
    'shop.user: 2 per YEAR: reset, 1 had been used; counter "shop_user_ann_year_"\n' +
      'shop.user (slow): 9 per YEAR: reset, 1 had been used; counter "shop_user_ann_year_"\n' +
      'shop.path: 1 per YEAR: reset, 1 had been used; counter "shop_path_/_year_"\n',
  );
  assertEquals(await decide(), 200);
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit counters says why it can't, and what its arguments are", async () => {
  const flags = ["-domain", "shop", "-descriptors", "user=ann"];
  const rows: readonly (readonly [readonly string[], number, string])[] = [
    [["set", ...flags], 2, 'the first is "set", expected get or reset'],
    [["get", "-domain", "shop"], 2, "descriptors"],
    [["get", ...flags, "-debug", "here"], 2, '"here" is not an http address'],
    [
      ["reset", ...flags, "-debug", "http://127.0.0.1:1"],
      1,
      "Cannot reset counters: http://127.0.0.1:1 does not answer",
    ],
  ];
  for (const [args, code, text] of rows) {
    const run = await runHere(["counters", ...args]);
    assertEquals(run.code, code);
    assertStringIncludes(run.stderr, text);
  }
  const help = await runHere(["counters", "--help"]);
  assertEquals(help.code, 0);
  assertStringIncludes(help.stdout, "ratelimit counters get|reset");
});

Deno.test("ratelimit takes no reset of counters by GET or POST, nor from another host's page", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULES });
  await using service = await serveHere({ RUNTIME_ROOT: folder.root });
  const url =
    `${service.debugUrl}/debug/counters?domain=shop&descriptors=path=/`;
  const post = await fetch(url, { method: "POST" });
  await post.body?.cancel();
  assertEquals([post.status, post.headers.get("allow")], [
    405,
    "DELETE, GET, HEAD",
  ]);
  await (await fetch(`${url}&reset=true`)).body?.cancel();
  const preflight = await fetch(url, {
    method: "OPTIONS",
    headers: {
      origin: "http://elsewhere.example",
      "access-control-request-method": "DELETE",
    },
  });
  await preflight.body?.cancel();
  assertEquals(preflight.headers.get("access-control-allow-origin"), null);
  const usage = await fetch(`${service.debugUrl}/debug/counters`);
  assertStringIncludes(await usage.text(), "curl -X DELETE");
  assertEquals(await service.stop(), 0);
});
