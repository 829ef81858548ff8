import { assert, assertEquals, assertThrows, fail } from "@std/assert";
import {
  booleanOption,
  choiceOption,
  durationOption,
  integerOption,
  listOption,
  numberOption,
  type OptionTable,
  type OptionValues,
  pairsOption,
  portOption,
  textOption,
} from "./options.ts";
import { readSettings, settingNames, settingPrefixes } from "./settings.ts";

const help = "What it does";

const TABLE = {
  port: portOption({ name: "PORT", default: 8081, help }),
  adminPort: portOption({ name: "ADMIN_PORT", help }),
  url: textOption({
    name: "KVSTORE_URL",
    aliases: ["REDIS_URL"],
    default: "",
    help,
  }),
  auth: textOption({
    secret: true,
    name: "KVSTORE_AUTH",
    aliases: ["REDIS_AUTH"],
    form: { matches: /^\S+$/, expected: "text without blanks" },
    help,
  }),
  backend: choiceOption({
    name: "BACKEND_TYPE",
    values: { memory: "memory", kvstore: "kvstore", redis: "kvstore" },
    default: "memory",
    ignoreCase: true,
    help,
  }),
  poolSize: integerOption({ name: "POOL_SIZE", min: 1, default: 10, help }),
  ratio: numberOption({ name: "RATIO", min: 0, max: 1, default: 0.8, help }),
  shadow: booleanOption({ name: "SHADOW_MODE", default: false, help }),
  flush: durationOption({ name: "FLUSH", default: "10s", help }),
  hosts: listOption({ name: "HOSTS", default: [], help }),
  tags: pairsOption({ name: "EXTRA_TAGS", default: [], help }),
  metadata: pairsOption({ name: "METADATA", separator: "=", help }),
} as const;

const DEFAULTS: OptionValues<typeof TABLE> = {
  port: 8081,
  adminPort: undefined,
  url: "",
  auth: undefined,
  backend: "memory",
  poolSize: 10,
  ratio: 0.8,
  shadow: false,
  flush: 10_000,
  hosts: [],
  tags: [],
  metadata: undefined,
};

Deno.test("readSettings() gives the defaults when nothing is set", () => {
  assertEquals(readOk({}), DEFAULTS);
});

Deno.test("readSettings() takes an empty variable as not set", () => {
  const empty = Object.fromEntries(
    settingNames(TABLE).map((name) => [name, ""]),
  );
  assertEquals(readOk(empty), DEFAULTS);
});

Deno.test("readSettings() reads each kind", () => {
  const values = readOk({
    PORT: "0",
    ADMIN_PORT: "6070",
    KVSTORE_URL: "localhost:6379",
    KVSTORE_AUTH: "user:word",
    BACKEND_TYPE: "Redis",
    POOL_SIZE: "3",
    RATIO: "0.5",
    SHADOW_MODE: "T",
    FLUSH: "1m150us",
    HOSTS: "a:1,b:2",
    EXTRA_TAGS: "zone:a,url:http://x",
    METADATA: "k=v",
  });
  assertEquals(values, {
    port: 0,
    adminPort: 6070,
    url: "localhost:6379",
    auth: "user:word",
    backend: "kvstore",
    poolSize: 3,
    ratio: 0.5,
    shadow: true,
    flush: 60_000.15,
    hosts: ["a:1", "b:2"],
    tags: [["zone", "a"], ["url", "http://x"]],
    metadata: [["k", "v"]],
  });
});

Deno.test("readSettings() reads an alias", () => {
  assertEquals(readOk({ REDIS_URL: "h:1" }).url, "h:1");
  assertEquals(readOk({ REDIS_URL: "h:1", KVSTORE_URL: "" }).url, "h:1");
  assertEquals(readOk({ REDIS_URL: "h:1", KVSTORE_URL: "h:1" }).url, "h:1");
});

Deno.test("readSettings() refuses names that are set and differ", () => {
  assertEquals(readBad({ REDIS_URL: "h:1", KVSTORE_URL: "h:2" }), [
    "Cannot read settings: KVSTORE_URL and REDIS_URL are both set and differ; keep one",
  ]);
  const table = {
    a: textOption({ name: "A", aliases: ["B", "C"], help }),
  } as const;
  assertEquals(readBad({ A: "1", B: "1", C: "2" }, table), [
    "Cannot read settings: A, B and C are all set and differ; keep one",
  ]);
});

Deno.test("readSettings() tells every fault, one line each", () => {
  const problems = readBad({
    PORT: "80x81",
    POOL_SIZE: "0",
    BACKEND_TYPE: "disk\nPORT is fine",
    FLUSH: "10",
  });
  assertEquals(problems, [
    'Cannot read settings: PORT is "80x81", expected a port number from 0 to 65535',
    'Cannot read settings: BACKEND_TYPE is "disk\\nPORT is fine", expected one of memory, kvstore, redis',
    'Cannot read settings: POOL_SIZE is "0", expected a whole number of 1 or more',
    'Cannot read settings: FLUSH is "10", expected a duration such as 10s or 1h30m',
  ]);
});

Deno.test("readSettings() names the variable that was set and hides secrets", () => {
  assertEquals(readBad({ REDIS_AUTH: "hunter 2" }), [
    'Cannot read settings: REDIS_AUTH is "****", expected text without blanks',
  ]);
  const differing = readBad({ REDIS_AUTH: "hunter2", KVSTORE_AUTH: "hunter3" });
  assert(!differing.join().includes("hunter"));
});

Deno.test("readSettings() throws when two settings share a name", () => {
  const table = {
    a: textOption({ name: "A", help }),
    b: textOption({ name: "B", aliases: ["A"], help }),
  } as const;
  assertThrows(() => readSettings(table, () => undefined), TypeError, '"A"');
});

Deno.test("settingNames() lists names and aliases sorted", () => {
  const table = { url: TABLE.url, port: TABLE.port } as const;
  assertEquals(settingNames(table), ["KVSTORE_URL", "PORT", "REDIS_URL"]);
});

Deno.test("readSettings() asks for no variable that settingNames() leaves out", () => {
  const asked = new Set<string>();
  readSettings(TABLE, (name) => {
    asked.add(name);
    return undefined;
  });
  assertEquals([...asked].sort(), [...settingNames(TABLE)]);
});

Deno.test("settings throw at once when their default is not acceptable", () => {
  const declarations = [
    () => portOption({ name: "P", default: 70_000, help }),
    () => durationOption({ name: "D", default: "10 s", help }),
    () => integerOption({ name: "I", min: 1, default: 0, help }),
    () => listOption({ name: "L", default: ["a,b", ""], help }),
  ];
  for (const declare of declarations) {
    assertThrows(declare, TypeError, "Cannot declare option");
  }
});

Deno.test("choiceOption() has the type of what the words stand for", () => {
  const table = {
    open: choiceOption({ name: "O", values: { a: "x" }, default: "", help }),
    none: choiceOption({ name: "N", values: { a: "x" }, help }),
  } as const;
  const values: {
    readonly open: "x" | "";
    readonly none: "x" | undefined;
  } = readOk({}, table);
  assertEquals(values, { open: "", none: undefined });
});

type Environment = Readonly<Record<string, string | undefined>>;

function readFrom(
  environment: Environment,
): (name: string) => string | undefined {
  return (name) => environment[name];
}

function readOk(environment: Environment): OptionValues<typeof TABLE>;
function readOk<const T extends OptionTable>(
  environment: Environment,
  table: T,
): OptionValues<T>;
function readOk(
  environment: Environment,
  table: OptionTable = TABLE,
): OptionValues<OptionTable> {
  const outcome = readSettings(table, readFrom(environment));
  return outcome.kind === "ok"
    ? outcome.values
    : fail(outcome.problems.join("\n"));
}

function readBad(
  environment: Environment,
  table: OptionTable = TABLE,
): readonly string[] {
  const outcome = readSettings(table, readFrom(environment));
  return outcome.kind === "invalid"
    ? outcome.problems
    : fail("expected a problem, all settings were read");
}

Deno.test("readSettings() gives notices of variables that look like settings and are none", () => {
  const env: Record<string, string> = {
    KVSTORE_URI: "localhost",
    KVSTORE_AHTU: "",
    PORT: "1",
    HOME: "/",
  };
  const outcome = readSettings(TABLE, (name) => env[name], {
    allVariables: () => env,
  });
  assert(outcome.kind === "ok");
  assertEquals(outcome.notices, [
    "KVSTORE_URI is set and has no effect: there is no such setting; did you " +
    "mean KVSTORE_URL?",
  ]);
});

Deno.test("readSettings() goes without those notices when the environment may not be listed", () => {
  const outcome = readSettings(TABLE, () => undefined, {
    allVariables() {
      throw new Deno.errors.NotCapable("Requires env access");
    },
  });
  assert(outcome.kind === "ok");
  assertEquals(outcome.notices, []);
});

const KNOWN = [
  "GRPC_HOST",
  "GRPC_MAX_AGE",
  "GRPC_PORT",
  "LOG_LEVEL",
  "PORT",
  "REDIS_TYPE",
  "REDIS_URL",
  "REDIS_AUTH",
];

function told(...seen: readonly string[]): readonly string[] {
  const table = Object.fromEntries(
    KNOWN.map((name) => [name, textOption({ name, help: "Any." })]),
  );
  const outcome = readSettings(table, () => undefined, {
    allVariables: () => Object.fromEntries(seen.map((name) => [name, "x"])),
  });
  return outcome.kind === "ok" ? outcome.notices : outcome.problems;
}

Deno.test("readSettings() tells near misses and what is meant", () => {
  const cases: Readonly<Record<string, string>> = {
    GRPC_PROT: "GRPC_PORT",
    GPRC_PORT: "GRPC_PORT",
    LOG_LEVL: "LOG_LEVEL",
    REDIS_URI: "REDIS_URL",
    PROT: "PORT",
  };
  for (const [name, meant] of Object.entries(cases)) {
    assertEquals(told(name), [
      `${name} is set and has no effect: there is no such setting; did you ` +
      `mean ${meant}?`,
    ]);
  }
});

Deno.test("readSettings() tells whatever begins as many settings do", () => {
  assertEquals(told("GRPC_REFLECTION", "REDIS_CLUSTER_MODE"), [
    "GRPC_REFLECTION, REDIS_CLUSTER_MODE are set and have no effect: there " +
    "is no such setting",
  ]);
});

Deno.test("readSettings() leaves out settings, other programs' variables and those of Kubernetes", () => {
  assertEquals(
    told(
      ...KNOWN,
      "LOG_TOKENS",
      "HOME",
      "PATH",
      "TERM",
      "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
      "REDIS_SERVICE_HOST",
      "REDIS_SERVICE_PORT_TLS",
      "REDIS_PORT_6379_TCP",
      "REDIS_PORT_6379_TCP_ADDR",
      "REDIS_PORT",
    ),
    [],
  );
});

Deno.test("readSettings() takes the folders that systemd names for no mistake in a setting", () => {
  const names = [
    ...["CACHE_AGE", "CACHE_SIZE", "CACHE_TYPE"],
    ...["RUNTIME_ROOT", "RUNTIME_SUBFOLDER", "RUNTIME_WATCH"],
  ];
  const table = Object.fromEntries(
    names.map((name) => [name, textOption({ name, help: "Any." })]),
  );
  const seen = { RUNTIME_DIRECTORY: "/a", CACHE_DIRECTORY: "/b" };
  const read = readSettings(table, () => undefined, {
    allVariables: () => seen,
  });
  assert(read.kind === "ok");
  assertEquals(read.notices, []);
});

Deno.test("readSettings() takes the certificates that a machine trusts for no mistake in a setting", () => {
  const table = { cert: textOption({ name: "TLS_CERT_FILE", help: "" }) };
  const read = readSettings(table, () => undefined, {
    allVariables: () => ({ SSL_CERT_FILE: "/a", TLS_CERT_FILES: "/b" }),
  });
  assert(read.kind === "ok");
  assertEquals(read.notices, [
    "TLS_CERT_FILES is set and has no effect: there is no such setting; did " +
    "you mean TLS_CERT_FILE?",
  ]);
});

Deno.test("settingPrefixes() gives the beginnings of settings of several words", () => {
  assertEquals(settingPrefixes(KNOWN), ["GRPC_", "LOG_", "REDIS_"]);
});

Deno.test("readSettings() looks over mistakes in variables that are for others", () => {
  const table = {
    port: portOption({ name: "PORT", default: 1, help: "Port." }),
    others: portOption({ name: "THEIR_PORT", default: 2, help: "Port." }),
  } as const;
  const env: Readonly<Record<string, string>> = {
    THEIR_PORT: "none",
    THEIR_PROT: "3",
  };
  const read = (foreignPrefixes: readonly string[]) =>
    readSettings(table, (name) => env[name], {
      allVariables: () => env,
      foreignPrefixes,
    });
  assertEquals(read(["THEIR_"]), {
    kind: "ok",
    values: { port: 1, others: 2 },
    notices: [],
  });
  assertEquals(read([]).kind, "invalid");
});
