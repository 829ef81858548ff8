import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { runRatelimit, startRatelimit } from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { runHere } from "./service_here.ts";

const RULE = dailyRule("shop", { key: "user", limit: 2 });

Deno.test("ratelimit explains on the debug port what a decision then answers, and counts nothing by it", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root },
  });
  const url = `${service.debugUrl}/debug/explain`;
  const request = JSON.stringify(createRequest("shop", { user: "ann" }));
  const decide = async () => {
    const answer = await fetch(`${service.httpUrl}/json`, {
      method: "POST",
      body: request,
    });
    return (await answer.json()).overallCode;
  };
  const explain = async () => {
    const answer = await fetch(`${url}?format=json`, {
      method: "POST",
      body: request,
    });
    const { overallCode, descriptors } = await answer.json();
    return [overallCode, descriptors[0].counter.holds];
  };
  for (const [held, code] of [[0, "OK"], [1, "OK"], [2, "OVER_LIMIT"]]) {
    assertEquals(await explain(), [code, held]);
    assertEquals(await explain(), [code, held]);
    assertEquals(await decide(), code);
  }
  const text = await (await fetch(
    `${url}?domain=shop&descriptors=user%3Dann`,
  )).text();
  assertStringIncludes(text, "shop.user (rules.yaml:3) applies");
  assertStringIncludes(text, "\nanswer: OVER_LIMIT\n");
  // After a reload the line numbers come from the thread that loads rules.
  await folder.write("rules.yaml", `# moved\n${RULE}`);
  service.signal("SIGHUP");
  await waitUntil(async () => {
    const moved = await fetch(`${url}?domain=shop&descriptors=user%3Dann`);
    return (await moved.text()).includes("shop.user (rules.yaml:4) applies");
  }, { what: "the moved rule" });
});

Deno.test("ratelimit explain tells which rule of a folder applies, as text and as JSON", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  const directory = `${folder.root}/config`;
  const explain = (...args: readonly string[]) => runHere(["explain", ...args]);
  const text = await runRatelimit({
    args: [
      ...["explain", "--config", directory, "-domain", "shop"],
      ...["-descriptors", "user=ann", "-descriptors", "usr=ann"],
    ],
  });
  assertEquals(text.code, 0, text.stderr);
  assertStringIncludes(text.stdout, "limited    shop.user (rules.yaml:3)");
  assertStringIncludes(text.stdout, 'the key "usr"; did you mean "user"?');
  const file = `${folder.base}/request.json`;
  await Deno.writeTextFile(
    file,
    JSON.stringify(createRequest("shop", { user: "ann" })),
  );
  const json = await explain("--config", directory, "--request", file, "-json");
  assertEquals(json.code, 0, json.stderr);
  const { counters, descriptors } = JSON.parse(json.stdout);
  assertEquals([counters, descriptors[0].counter.key], [
    "not_asked",
    "shop_user_ann_day_",
  ]);
  const candidate = await folder.makeRoot("candidate", {
    "other.yaml": dailyRule("shop", { key: "user", limit: 7 }),
  });
  const both = await explain(
    ...["--config", directory, "--candidate", `${candidate}/config`],
    ...["-domain", "shop", "-descriptors", "user=ann"],
  );
  assertEquals(both.code, 0, both.stderr);
  const limits = both.stdout.match(/\d+ per DAY|\w+\.yaml/g);
  assertEquals(limits, ["rules.yaml", "2 per DAY", "other.yaml", "7 per DAY"]);
});

Deno.test("ratelimit explain tells of wrong arguments, files and requests", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": RULE.replace("day", "fortnight"),
  });
  const directory = `${folder.root}/config`;
  const user = ["-domain", "shop", "-descriptors", "user=ann"];
  const cases: [readonly string[], number, string][] = [
    [[], 2, "either -request, or -domain"],
    [[...user, "-request", "x"], 2, "either -request, or -domain"],
    [["-domain", "shop", "-descriptors", "user"], 2, "not of the form"],
    [["-config", directory, ...user], 1, "rules.yaml:5: invalid rate limit"],
    [["-config", `${directory}x`, ...user], 1, "it does not exist"],
    [["-request", `${directory}/none`], 1, "Cannot read the request"],
  ];
  for (const [args, code, told] of cases) {
    const run = await runHere(["explain", ...args]);
    assertEquals([args, run.code, run.stdout], [args, code, ""]);
    assert(run.stderr.includes(told), run.stderr);
  }
  const { code, stdout, stderr } = await runRatelimit({
    args: ["explain", "-config", `${directory}x`, ...user],
  });
  assertEquals([code, stdout], [1, ""]);
  assert(stderr.includes("it does not exist"), stderr);
});
