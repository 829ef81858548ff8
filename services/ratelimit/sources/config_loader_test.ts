import { assertEquals, assertStringIncludes } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { loadRules } from "../rules/load.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { ConfigLoader } from "./config_loader.ts";

function bench(): {
  readonly loader: ConfigLoader;
  readonly logger: RecordingLogger;
  readonly adopted: Snapshot[];
  /**
   * Statistics whose names begin with `prefix`; by default, how loads ended.
   */
  readonly loads: (prefix?: string) => Record<string, unknown>;
} {
  const logger = new RecordingLogger();
  const registry = new StatsRegistry();
  const adopted: Snapshot[] = [];
  const loader = new ConfigLoader({
    load: loadRules,
    adopt: (snapshot) => void adopted.push(snapshot),
    stats: registry,
    logger,
  });
  const loads = (
    prefix = "ratelimit.service.config_load_",
  ): Record<string, unknown> =>
    Object.fromEntries(
      registry.snapshot().filter(({ name }) => name.startsWith(prefix)).map((
        reading,
      ) => [
        reading.name.slice(prefix.length),
        reading.kind === "timer" ? undefined : reading.value,
      ]),
    );
  return { loader, logger, adopted, loads };
}

function files(text: string): Parameters<ConfigLoader["take"]>[0] {
  return { kind: "files", files: [{ name: "a.yaml", text }], fingerprint: "" };
}

Deno.test("ConfigLoader.take() brings rules into force when they are right", async () => {
  const { loader, adopted, loads } = bench();
  assertEquals(loader.isLoaded, false);
  await loader.take(files("domain: d\n"));
  await loader.firstLoad;
  assertEquals(loader.isLoaded, true);
  assertEquals(adopted.map(({ domainNames }) => domainNames), [["d"]]);
  assertEquals(loads(), { success: 1, error: 0 });
});

Deno.test("ConfigLoader.take() counts readings of files and how many there are, not what a server sends", async () => {
  const { loader, loads } = bench();
  await loader.take(files("domain: d\n"));
  await loader.take({ kind: "unreadable", reason: "gone" });
  await loader.take(files("domain: [\n"));
  await loader.take({ kind: "resources", resources: [] });
  assertEquals(loads("runtime."), {
    load_attempts: 3,
    load_failures: 1,
    num_values: 1,
  });
  assertEquals(loads(), { success: 2, error: 2 });
});

Deno.test("ConfigLoader.take() logs a line for each domain and descriptor at debug", async () => {
  const { loader, logger } = bench();
  await loader.take(files(
    "domain: d\ndescriptors:\n" +
      "  - key: a\n    descriptors:\n" +
      "      - {key: b, rate_limit: {unit: day, requests_per_unit: 2}}\n",
  ));
  const told = logger.lines.filter(({ level }) => level === "debug")
    .map(({ message, fields }) => [message, fields]);
  assertEquals(told, [
    ["Loaded domain", { domain: "d" }],
    ["Loaded descriptor", { descriptor: "d.a", limit: undefined }],
    ["Loaded descriptor", {
      descriptor: "d.a.b",
      limit: "unit=DAY requests_per_unit=2, " +
        "shadow_mode: false, quota_mode: false",
    }],
  ]);
});

Deno.test("ConfigLoader.take() keeps the old rules and names file, line and reason when a file is bad", async () => {
  const { loader, logger, adopted, loads } = bench();
  await loader.take(files("domain: d\n"));
  await loader.take(files("domain: d\ndescriptors:\n  - kye: a\n"));
  assertEquals(adopted.length, 1);
  assertEquals(loads(), { success: 1, error: 1 });
  const [first] = logger.listMessages("error");
  assertStringIncludes(
    first!,
    "a.yaml:3: config error, unknown key 'kye', did you mean 'key'",
  );
  assertStringIncludes(first!, "the rules loaded before stay in force");
});

Deno.test("ConfigLoader.take() tells what became of a configuration", async () => {
  const { loader, loads } = bench();
  assertEquals(await loader.take(files("domain: d\n")), { kind: "adopted" });
  assertEquals(
    await loader.take({ kind: "resources", resources: [] }),
    { kind: "adopted" },
  );
  const bytes = new Uint8Array();
  const resources = [{ name: "first", bytes }, { name: "second", bytes }];
  assertEquals(await loader.take({ kind: "resources", resources }), {
    kind: "refused",
    reasons: [
      "first: config file cannot have empty domain",
      "second: config file cannot have empty domain",
    ],
  });
  assertEquals(loads(), { success: 2, error: 1 });
});

Deno.test("ConfigLoader.take() says what is unreadable when there are no rules yet", async () => {
  const { loader, logger, loads } = bench();
  await loader.take({ kind: "unreadable", reason: "Cannot read directory" });
  assertEquals(loader.isLoaded, false);
  assertEquals(loads(), { success: 0, error: 1 });
  assertStringIncludes(
    logger.listMessages("error")[0]!,
    "Cannot read directory; there are no rules until it is mended",
  );
});

Deno.test("ConfigLoader.take() logs a bounded number of faults when a file is full of them", async () => {
  const { loader, logger } = bench();
  const bad = "  - {}\n".repeat(500);
  await loader.take(files(`domain: d\ndescriptors:\n${bad}`));
  assertEquals(logger.listMessages("error").length, 21);
});

Deno.test("ConfigLoader.take() warns when the configuration limits nothing", async () => {
  const { loader, logger } = bench();
  await loader.take({ kind: "files", files: [], fingerprint: "" });
  assertEquals(loader.isLoaded, true);
  assertStringIncludes(
    logger.listMessages("warning")[0]!,
    "nothing is limited",
  );
});
