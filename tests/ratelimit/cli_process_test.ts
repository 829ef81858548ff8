import { assert, assertEquals } from "@std/assert";
import { runRatelimit, startRatelimit } from "../support/ratelimit_process.ts";
import type { ServiceRun } from "../support/service_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { TLS_SERVER_NAME } from "./grpc_caller.ts";
import { GrpcTlsFiles } from "./grpc_tls_files.ts";
import { quietPort } from "./quiet_port.ts";
import { dailyRule } from "./requests.ts";
import { runHere } from "./service_here.ts";

const RULE = dailyRule("cli", { key: "user", limit: 2 });

/** Runs a command in a process of its own. */
function run(...args: readonly string[]): Promise<ServiceRun> {
  return runRatelimit({ args });
}

Deno.test("ratelimit client asks a running service", async (t) => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root },
  });
  const ask = (...args: readonly string[]): Promise<ServiceRun> =>
    runHere(["client", "-dial_string", service.grpcTarget, ...args]);
  const user = ["-domain", "cli", "-descriptors", "user=a"];

  const first = await run(
    ...["client", "-dial_string", service.grpcTarget, ...user],
  );
  assertEquals(first.code, 0, first.stderr);
  assert(first.stdout.startsWith("response: "), first.stdout);
  assert(first.stdout.includes("limit_remaining:"), first.stdout);
  const looked = await ask(...user, "-hits", "0", "-json");
  assertEquals(looked.code, 0, looked.stderr);
  assertEquals(JSON.parse(looked.stdout).statuses[0].limitRemaining, 1);
  const over = await ask(...user, "-hits=5", "-json");
  assertEquals(over.code, 3, over.stderr);
  assertEquals(JSON.parse(over.stdout).overallCode, "OVER_LIMIT");
  const several = await ask(...user, "-descriptors", "other=b", "-json");
  assertEquals(several.code, 3);
  assertEquals(
    JSON.parse(several.stdout).statuses.map(
      ({ code }: { code: string }) => code,
    ),
    ["OVER_LIMIT", "OK"],
  );
  const refused = await ask("-domain", "", "-descriptors", "user=a");
  assertEquals([refused.code, refused.stdout], [1, ""]);
  assert(refused.stderr.startsWith("request error: "), refused.stderr);

  await t.step(
    "ratelimit client puts a limit in place of the configured one, and sums up many calls",
    async () => {
      const { code, stdout, stderr } = await run(
        ...["client", "-dial_string", service.grpcTarget, "-domain", "cli"],
        ...["-descriptors", "user=b", "-limit", "60/day", "-json"],
        ...["-repeat", "100", "-concurrency", "10"],
      );
      assertEquals(code, 3, stderr);
      const { calls, codes } = JSON.parse(stdout);
      assertEquals([calls, codes], [100, { OK: 60, OVER_LIMIT: 40 }]);
    },
  );
});

Deno.test("ratelimit client speaks TLS and shows its own certificate", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  await using files = await GrpcTlsFiles.make();
  const own = files.clients.issue("client.test");
  await files.replace("own.pem", own.certPem);
  await files.replace("own.key", own.keyPem);
  await Deno.writeTextFile(`${files.path}/ca.pem`, files.authority.caPem);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, ...files.mutualEnv },
  });
  const ask = (...args: readonly string[]): Promise<ServiceRun> =>
    runHere([
      ...["client", "-dial_string", service.grpcTarget, "-domain", "cli"],
      ...["-descriptors", "user=tls", ...args],
    ]);
  const trust = [
    "-grpc-use-tls",
    ...["-grpc-server-ca-file", `${files.path}/ca.pem`],
    ...["-grpc-server-name", TLS_SERVER_NAME],
  ];
  const certificate = [
    ...["-grpc-cert-file", `${files.path}/own.pem`],
    ...["-grpc-key-file", `${files.path}/own.key`],
  ];
  const right = await ask(...trust, ...certificate);
  assertEquals(right.code, 0, right.stderr);
  const refused: readonly (readonly string[])[] = [
    trust,
    ["-grpc-use-tls", ...certificate],
    [...trust, ...certificate, "-grpc-server-name", "other.test"],
    [],
  ];
  for (const args of refused) {
    const { code, stdout, stderr } = await ask(...args);
    assertEquals([code, stdout], [1, ""], args.join(" "));
    assert(stderr.startsWith("request error: "), stderr);
  }
});

Deno.test("ratelimit client tells of wrong arguments and of a missing service", async () => {
  const wrong = await run("client", "-domain", "cli", "-descriptors", "user");
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assert(wrong.stderr.includes('"user" is not of the form key=value'));
  assert(wrong.stderr.includes("usage: ratelimit client"), wrong.stderr);
  const away = await runHere([
    ...["client", "-dial_string", `127.0.0.1:${quietPort()}`],
    ...["-timeout", "10s", "-domain", "cli", "-descriptors", "user=a"],
  ]);
  assertEquals([away.code, away.stdout], [1, ""]);
  assert(away.stderr.startsWith("request error: "), away.stderr);
});

Deno.test("ratelimit check accepts right files and tells what they hold", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  const right = await runHere(
    ["check", "-config_dir", `${folder.root}/config`],
  );
  assertEquals(right, {
    code: 0,
    stdout: "all rate limit configs ok: 1 files, 1 domains, 1 rules\n",
    stderr: "",
  });
});

Deno.test("ratelimit check writes the schema of rule files, as the reference has it", async () => {
  const { code, stdout } = await runHere(["check", "--schema"]);
  const file = new URL(
    "../../docs/reference/rule_files.schema.json",
    import.meta.url,
  );
  assertEquals([code, stdout], [0, await Deno.readTextFile(file)]);
});

Deno.test("ratelimit check tells all faults of wrong files", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": RULE,
    "syntax.yaml": "domain: [",
    "unit.yaml": RULE.replace("domain: cli", "domain: other")
      .replace("unit: day", "unit: fortnight"),
  });
  const directory = `${folder.root}/config`;
  const wrong = await run("check", "-config_dir", directory);
  assertEquals([wrong.code, wrong.stdout], [1, ""]);
  const lines = wrong.stderr.trimEnd().split("\n");
  assertEquals(lines.length, 2, wrong.stderr);
  for (const file of ["syntax.yaml:", "unit.yaml:5: "]) {
    const prefix = `error loading rate limit configs: ${file}`;
    assert(lines.some((line) => line.startsWith(prefix)), wrong.stderr);
  }
  const json = await runHere(["check", "-json", "-config_dir", directory]);
  assertEquals(json.code, 1);
  const { ok, faults } = JSON.parse(json.stdout);
  assertEquals([ok, faults.length], [false, 2]);
  const missing = await runHere(
    ["check", "-config_dir", `${folder.base}/nothing`],
  );
  assertEquals(missing.code, 1);
  assert(missing.stderr.includes("it does not exist"), missing.stderr);
  assertEquals((await runHere(["check", "-no_such_flag"])).code, 2);
});
