import { assertEquals, assertExists } from "@std/assert";
import plugin from "./boundaries.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/**
 * Returns the names of the rules that a file breaks, without the prefix of the
 * plugin.
 */
function rulesBroken(path: string, source: string): readonly string[] {
  return Deno.lint.runPlugin(plugin, ROOT + path, source)
    .map((diagnostic) => diagnostic.id.replace("tercet/", ""));
}

function importsBroken(path: string, specifier: string): boolean {
  const broken = rulesBroken(path, `import { a } from "${specifier}";`);
  assertEquals(rulesBroken(path, `export * from "${specifier}";`), broken);
  assertEquals(rulesBroken(path, `export { a } from "${specifier}";`), broken);
  assertEquals(
    rulesBroken(path, `import type { a } from "${specifier}";`),
    broken,
  );
  return broken.includes("imports");
}

const ALLOWED: readonly (readonly [string, string])[] = [
  ["mod.ts", "./sdk/errors.ts"],
  ["sdk/memory/client.ts", "../errors.ts"],
  ["sdk/memory/signing.ts", "@noble/curves/ed25519"],
  ["sdk/ai.ts", "ai"],
  ["sdk/errors_test.ts", "@std/assert"],
  ["sdk/errors_test.ts", "../tests/support/random.ts"],
  ["services/shared/http/route_tree.ts", "./problem.ts"],
  ["services/shared/grpc/call.ts", "../../../proto/health.ts"],
  ["services/shared/clock.ts", "node:net"],
  ["services/ratelimit/main.ts", "../shared/logger.ts"],
  ["services/ratelimit/api/json.ts", "../../../proto/request_view.ts"],
  ["services/ratelimit/rules/parse.ts", "@std/yaml"],
  ["services/ratelimit/rules/parse_test.ts", "node:fs"],
  ["services/ratelimit/a_test.ts", "../../tests/support/random.ts"],
  ["services/ratelimit/counters/a_test.ts", "./testing/suite.ts"],
  ["services/relayer/vault/open.ts", "../../../sdk/vault/envelope.ts"],
  ["services/relayer/receipts/sign.ts", "../../../sdk/vault/bytes.ts"],
  ["services/relayer/browser/view.tsx", "../../../mod.ts"],
  ["services/keyserver/main.ts", "../../sdk/vault/envelope.ts"],
  ["services/shared/ledger/call.ts", "../../../sdk/vault/envelope.ts"],
  ["services/localnet/view.ts", "../../sdk/vault/bcs.ts"],
  ["services/localnet/view.ts", "../relayer/ledger/ledger_log.ts"],
  ["services/localnet/a_test.ts", "../relayer/ledger/testing/open.ts"],
  ["services/shared/grpc/call_test.ts", "npm:@grpc/grpc-js@^1.14.0"],
  ["services/tasks/store/store.ts", "../domain/task.ts"],
  ["services/tasks/engine/leases.ts", "../access/caller.ts"],
  ["services/tasks/routes/tasks/a.ts", "../../domain/task.ts"],
  ["services/tasks/routes/tasks/a.ts", "../users/b.ts"],
  ["services/tasks/main.ts", "./routes/all_routes.ts"],
  ["services/tasks/domain/a_test.ts", "../store/memory_store.ts"],
  ["services/tasks/http/testing/demo.ts", "../../routes/all_routes.ts"],
  ["services/cli/main.ts", "../tasks/main.ts"],
  ["services/cli/tasks.ts", "../../sdk/tasks.ts"],
  ["tests/cli/a_test.ts", "../../services/cli/main.ts"],
  ["proto/wire.ts", "./utf8.ts"],
  ["proto/wire_test.ts", "npm:protobufjs@^7.5.0"],
  ["proto/testing/schema.ts", "npm:protobufjs@^7.5.0"],
  ["tests/support/random.ts", "../../scripts/launch.ts"],
  ["tests/a_test.ts", "../services/ratelimit/main.ts"],
  ["scripts/dev.ts", "./permissions.ts"],
  ["scripts/npm/compile_sdk.ts", "npm:typescript@^5.9.3"],
  ["scripts/bench/a_bench.ts", "../../services/ratelimit/rules/parse.ts"],
];

const REFUSED: readonly (readonly [string, string])[] = [
  ["mod.ts", "./services/shared/clock.ts"],
  ["services/tasks/main.ts", "../cli/main.ts"],
  ["services/shared/clock.ts", "../cli/main.ts"],
  ["sdk/errors.ts", "../services/cli/main.ts"],
  ["services/cli/main.ts", "../../scripts/permissions.ts"],
  ["services/cli/main.ts", "npm:@grpc/grpc-js@^1.14.0"],
  ["services/ratelimit/cli/client.ts", "jsr:@std/yaml@^1.0.0"],
  ["services/shared/grpc/call.ts", "https://example.com/grpc.ts"],
  ["sdk/manual.ts", "../proto/wire.ts"],
  ["sdk/manual.ts", "node:buffer"],
  ["sdk/manual.ts", "@std/yaml"],
  ["sdk/manual.ts", "ai"],
  ["sdk/ai.ts", "redis"],
  ["sdk/ai.ts", "npm:ai@^7.0.173"],
  ["services/shared/clock.ts", "../ratelimit/main.ts"],
  ["services/shared/clock.ts", "../../sdk/errors.ts"],
  ["services/shared/clock_test.ts", "../ratelimit/main.ts"],
  ["services/ratelimit/main.ts", "../tasks/main.ts"],
  ["services/localnet/view.ts", "../relayer/api/answer.ts"],
  ["services/localnet/view.ts", "../keyserver/approver.ts"],
  ["services/relayer/main.ts", "../localnet/json_rpc.ts"],
  ["services/relayer/ledger/ledger.ts", "../../localnet/json_rpc.ts"],
  ["services/ratelimit/main.ts", "../../sdk/vault/envelope.ts"],
  ["services/relayer/jobs/run.ts", "../../../sdk/vault/envelope.ts"],
  ["services/relayer/vault/open.ts", "../../../sdk/errors.ts"],
  ["services/relayer/console/view.tsx", "../../../mod.ts"],
  ["services/keyserver/main.ts", "../../sdk/errors.ts"],
  ["services/shared/http/call.ts", "../../../sdk/vault/envelope.ts"],
  ["services/ratelimit/main.ts", "../../scripts/permissions.ts"],
  ["services/ratelimit/a_test.ts", "../../scripts/permissions.ts"],
  ["services/ratelimit/main.ts", "../../tests/support/random.ts"],
  ["services/ratelimit/a_test.ts", "../../tests/e2e.ts"],
  ["services/ratelimit/main.ts", "./counters/testing/suite.ts"],
  ["services/ratelimit/main.ts", "./a_test.ts"],
  ["services/ratelimit/rules/parse.ts", "node:fs"],
  ["services/tasks/domain/task.ts", "../store/store.ts"],
  ["services/tasks/store/store.ts", "../engine/leases.ts"],
  ["services/tasks/engine/leases.ts", "../http/route.ts"],
  ["services/tasks/http/route.ts", "../routes/all_routes.ts"],
  ["services/tasks/access/caller.ts", "../engine/leases.ts"],
  ["services/tasks/access/caller.ts", "../secrets/vault.ts"],
  ["services/tasks/engine/a/b.ts", "../../routes/users/c.ts"],
  ["proto/wire.ts", "../services/shared/clock.ts"],
  ["proto/wire.ts", "npm:protobufjs@^7.5.0"],
  ["scripts/dev.ts", "../tests/support/random.ts"],
];

Deno.test("imports allows what the design allows", () => {
  for (const [path, specifier] of ALLOWED) {
    assertEquals(importsBroken(path, specifier), false, `${path} ${specifier}`);
  }
});

Deno.test("imports reports what crosses a boundary", () => {
  for (const [path, specifier] of REFUSED) {
    assertEquals(importsBroken(path, specifier), true, `${path} ${specifier}`);
  }
});

Deno.test("imports lets only the relayer's program load localnet, with import()", () => {
  const source = 'await import("../localnet/json_rpc.ts");';
  assertEquals(rulesBroken("services/relayer/main.ts", source), []);
  assertEquals(rulesBroken("services/relayer/serve.ts", source), ["imports"]);
  assertEquals(rulesBroken("services/keyserver/main.ts", source), ["imports"]);
});

Deno.test("imports lets the SDK load an optional package with import() alone", () => {
  assertEquals(rulesBroken("sdk/manual.ts", `await import("ai");`), []);
  assertEquals(
    rulesBroken("sdk/manual.ts", `await import("node:fs");`),
    ["imports"],
  );
  assertEquals(rulesBroken("sdk/manual.ts", `await import(name);`), []);
});

Deno.test("imports says what is imported and why not", () => {
  const [diagnostic] = Deno.lint.runPlugin(
    plugin,
    ROOT + "services/shared/clock.ts",
    `import "../tasks/main.ts";`,
  );
  assertExists(diagnostic);
  assertEquals(
    diagnostic.message,
    `Cannot import "../tasks/main.ts" here: services/shared/ imports no ` +
      "service and not the SDK",
  );
});

Deno.test("circles reports an import when the imported file leads back to this one", () => {
  const path = "services/tasks/domain/task.ts";
  assertEquals(
    rulesBroken(path, `import "./transition.ts";`),
    ["circles"],
  );
  assertEquals(rulesBroken(path, `import "../../shared/clock.ts";`), []);
});

const IMPURE: readonly string[] = [
  "Deno.readTextFile(path);",
  "Date.now();",
  `Date["now"]();`,
  "const now = Date.now;",
  "new Date();",
  "Date();",
  "performance.now();",
  "Math.random();",
  "crypto.randomUUID();",
  "console.log(1);",
  "process.exit(1);",
  "fetch(url);",
  "setTimeout(run, 1);",
  "setInterval(run, 1);",
];

const PURE: readonly string[] = [
  "new Date(0);",
  "Date.UTC(2020, 0);",
  "Math.max(1, 2);",
  "clock.now();",
  "store.fetch(url);",
];

const PURE_FOLDERS: readonly string[] = [
  "services/ratelimit/rules",
  "services/ratelimit/decision",
  "services/tasks/domain",
];

Deno.test("pure reports I/O, clocks and chance in pure folders", () => {
  for (const folder of PURE_FOLDERS) {
    for (const source of IMPURE) {
      assertEquals(rulesBroken(`${folder}/a.ts`, source), ["pure"], source);
    }
  }
});

Deno.test("pure allows values in pure folders, and everything in their tests and beside them", () => {
  for (const source of PURE) {
    assertEquals(rulesBroken("services/ratelimit/rules/a.ts", source), []);
  }
  for (const source of IMPURE) {
    assertEquals(rulesBroken("services/ratelimit/rules/a_test.ts", source), []);
    assertEquals(rulesBroken("services/ratelimit/rules_a.ts", source), []);
  }
});

Deno.test("platform reports Deno and process in the SDK", () => {
  for (const source of ["Deno.exit(1);", "process.exit(1);"]) {
    assertEquals(rulesBroken("sdk/manual.ts", source), ["platform"]);
    assertEquals(rulesBroken("sdk/manual_test.ts", source), []);
    assertEquals(rulesBroken("services/shared/a.ts", source), []);
  }
});

Deno.test("environment lets main.ts, scripts and tests alone read it", () => {
  for (const source of [`Deno.env.get("A");`, "process.env.A;"]) {
    for (
      const path of [
        "services/ratelimit/settings.ts",
        "services/shared/settings.ts",
        "services/ratelimit/cli/main.ts",
        "services/main.ts",
      ]
    ) assertEquals(rulesBroken(path, source), ["environment"], path);
    for (
      const path of [
        "services/ratelimit/main.ts",
        "services/ratelimit/a_test.ts",
        "scripts/dev.ts",
        "tests/support/services.ts",
      ]
    ) assertEquals(rulesBroken(path, source), [], path);
  }
});

Deno.test("exports reports default exports in all their forms", () => {
  for (
    const source of [
      "export default 1;",
      "export default function f() {}",
      "const a = 1; export { a as default };",
      `export { default } from "./a.ts";`,
    ]
  ) assertEquals(rulesBroken("sdk/manual.ts", source), ["exports"], source);
  assertEquals(
    rulesBroken("sdk/manual.ts", `export { default as a } from "./a.ts";`),
    [],
  );
});

Deno.test("file-name reports names that say nothing, and other spellings", () => {
  for (
    const name of ["utils", "index", "utils_test", "clockTest", "my-clock"]
  ) {
    assertEquals(
      rulesBroken(`services/shared/${name}.ts`, ""),
      ["file-name"],
      name,
    );
  }
  for (const name of ["clock", "h2_server_test", "mod"]) {
    assertEquals(rulesBroken(`services/shared/${name}.ts`, ""), [], name);
  }
});

Deno.test("words reports turns of phrase in comments and texts, but for tests", () => {
  for (
    const source of [
      "/** What asking comes to. */\n",
      "// Nobody asks.\n",
      "/**\n * It is not asked any\n * more.\n */\n",
      `const a = "begun anew";`,
      "const b = `it is none ${1}`;",
    ]
  ) {
    assertEquals(rulesBroken("sdk/manual.ts", source), ["words"], source);
    assertEquals(rulesBroken("sdk/manual_test.ts", source), [], source);
  }
  for (
    const source of [
      "// Renewed. Many more. There is none; it is none of them.\n",
      "const nobodyElse = 1;",
      `const user = "nobody";`,
    ]
  ) assertEquals(rulesBroken("sdk/manual.ts", source), [], source);
});
