import { assertEquals, assertThrows } from "@std/assert";
import {
  expandPermissions,
  permissionFlags,
  SERVICE_NAMES,
  type ServiceName,
} from "./permissions.ts";

const options = { execPath: "/opt/deno" };

Deno.test("expandPermissions() puts the flags of the set in its place", () => {
  assertEquals(
    expandPermissions(["test", "--permissions=test", "sdk/"], options),
    ["test", ...permissionFlags("test", options), "sdk/"],
  );
});

Deno.test("expandPermissions() throws when there is no such set", () => {
  for (const name of ["", "all", "toString"]) {
    assertThrows(
      () => expandPermissions([`--permissions=${name}`], options),
      RangeError,
      `Cannot find the permissions "${name}": the sets are ratelimit, tasks, relayer, keyserver, tercet, tercet-worker, test, script`,
    );
  }
});

Deno.test("permissionFlags() never lets a service run, load or identify", () => {
  for (const service of SERVICE_NAMES) {
    const flags = permissionFlags(service, options)
      .filter((flag) => service !== "ratelimit" || !/^--\w+-sys/.test(flag))
      .join(" ");
    for (const flag of ["--allow-all", "-A", "run", "ffi", "sys"]) {
      assertEquals(flags.includes(flag), false, `${service} ${flag}`);
    }
  }
});

Deno.test("permissionFlags() leaves ratelimit nothing of the system but V8's inspector", async () => {
  const flags = permissionFlags("ratelimit", options);
  const asked = flags.filter((flag) => flag.includes("sys"));
  assertEquals(asked[0], "--allow-sys");
  const kinds = [
    "hostname",
    "osRelease",
    "osUptime",
    "loadavg",
    "networkInterfaces",
    "systemMemoryInfo",
    "uid",
    "gid",
    "username",
    "cpus",
    "homedir",
    "statfs",
    "getPriority",
    "setPriority",
    "userInfo",
    "getegid",
  ];
  const program = `for (const kind of ${JSON.stringify(kinds)}) {
    const { state } = await Deno.permissions.query({ name: "sys", kind });
    if (state !== "denied") console.log(kind, state);
  }
  const { Session } = await import("node:inspector");
  new Session().connect();
  console.log("inspector");`;
  const path = await Deno.makeTempFile({ suffix: ".js" });
  try {
    await Deno.writeTextFile(path, program);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-config", "--no-prompt", ...asked, path],
    }).output();
    assertEquals(new TextDecoder().decode(stdout), "inspector\n");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("permissionFlags() lets a service that is started write where its settings say, and nowhere else", () => {
  const listWritable = (
    service: typeof SERVICE_NAMES[number],
    env: Readonly<Record<string, string>>,
  ): readonly string[] =>
    permissionFlags(service, { ...options, serving: (name) => env[name] })
      .filter((flag) => flag.includes("write"));
  assertEquals(listWritable("relayer", {}), ["--allow-write=relayer-data"]);
  assertEquals(listWritable("tasks", { DATA_DIR: "" }), [
    "--allow-write=tasks-data",
  ]);
  // Deno treats a comma as the end of a path.
  assertEquals(listWritable("relayer", { DATA_DIR: "/srv/a,b" }), [
    "--allow-write",
  ]);
  assertEquals(listWritable("ratelimit", {}), []);
  assertEquals(listWritable("ratelimit", { GRPC_UDS: "/run/rl.sock" }), [
    "--allow-write=/run/rl.sock",
  ]);
  // Connecting to a unix socket needs the permission to write to it.
  assertEquals(
    listWritable("ratelimit", {
      GRPC_UDS: "/run/rl.sock",
      REDIS_URL: "unix:///run/redis.sock",
      KVSTORE_PERSECOND_URL: "/run/second.sock",
    }),
    ["--allow-write=/run/rl.sock,/run/redis.sock,/run/second.sock"],
  );
  assertEquals(
    listWritable("ratelimit", { KVSTORE_URL: "redis.test:6379" }),
    [],
  );
  assertEquals(
    listWritable("ratelimit", {
      CONFIG_GRPC_XDS_SERVER_URL: "unix:/run/control.sock",
    }),
    ["--allow-write=/run/control.sock"],
  );
});

Deno.test("permissionFlags() lets a service write anywhere when its settings are not known yet", () => {
  for (const service of SERVICE_NAMES) {
    const flags = permissionFlags(service, options);
    assertEquals([service, flags.includes("--allow-write")], [service, true]);
  }
});

Deno.test("permissionFlags() names every variable that a service reads, and hides the others", () => {
  const flags = permissionFlags("ratelimit", options);
  const names = flags.find((flag) => flag.startsWith("--allow-env="))
    ?.slice("--allow-env=".length).split(",") ?? [];
  for (const name of ["PORT", "KVSTORE_URL", "GRPC_UDS"]) {
    assertEquals(names.includes(name), true, name);
  }
  for (const name of ["HOME", "PATH", "https_proxy", ""]) {
    assertEquals(names.includes(name), false, name);
  }
  assertEquals(flags.includes("--ignore-env"), true);
});

Deno.test("permissionFlags() shows a service what begins like its settings, for near misses", () => {
  const listNames = (service: ServiceName) =>
    permissionFlags(service, options)
      .find((flag) => flag.startsWith("--allow-env="))
      ?.slice("--allow-env=".length).split(",") ?? [];
  for (
    const name of [
      "GRPC_*",
      "KVSTORE_*",
      "TRACING_*",
      "TAGGED_STATSD_MOGRIFIERS_*",
    ]
  ) {
    assertEquals(listNames("ratelimit").includes(name), true, name);
  }
  assertEquals(listNames("tasks").includes("IDP_*"), true);
  assertEquals(listNames("relayer").includes("BLOB_*"), true);
  for (const service of SERVICE_NAMES) {
    assertEquals(listNames(service).includes("*"), false);
  }
});

Deno.test("permissionFlags() lets tests start Deno, two servers and three runtimes, and nothing else", () => {
  const flags = permissionFlags("test", options);
  assertEquals(
    flags.filter((flag) => flag.includes("run")),
    ["--allow-run=/opt/deno,redis-server,memcached,node,bun,chromium,mkfifo,sqlite3,nghttp,curl,postgres,initdb,pg_basebackup,pg_dump,pgbouncer,setpriv,bash"],
  );
  assertEquals(flags.join(" ").includes("ffi"), false);
  const fewer = permissionFlags("test", {
    ...options,
    isThere: (program) => program === "node",
  });
  assertEquals(
    fewer.filter((flag) => flag.includes("run")),
    ["--allow-run=/opt/deno,node"],
  );
});

Deno.test("permissionFlags() lets tercet read the settings of all services, and run nothing", () => {
  const flags = permissionFlags("tercet", options);
  const names = flags.find((flag) => flag.startsWith("--allow-env="))
    ?.slice("--allow-env=".length).split(",") ?? [];
  for (const name of ["KVSTORE_URL", "SERVICE_HOST", "MASTER_KEYS"]) {
    assertEquals(names.includes(name), true, name);
  }
  for (const kind of ["run", "ffi", "all"]) {
    assertEquals(
      flags.some((flag) => flag.startsWith(`--allow-${kind}`)),
      false,
    );
  }
});

Deno.test("permissionFlags() lets tercet see the user's folders, and nothing else of other programs", () => {
  const names = permissionFlags("tercet", options)
    .find((flag) => flag.startsWith("--allow-env="))
    ?.slice("--allow-env=".length).split(",") ?? [];
  for (const name of ["HOME", "XDG_DATA_HOME", "CODEX_HOME", "TERCET_KEY"]) {
    assertEquals(names.includes(name), true, name);
  }
  for (const name of ["XDG_*", "CLAUDE_*", "CODEX_*", "MEMWAL_*", "HOME*"]) {
    assertEquals(names.includes(name), false, name);
  }
});

Deno.test("permissionFlags() lets tercet-worker run commands, and write nothing", () => {
  const flags = permissionFlags("tercet-worker", options);
  assertEquals(flags, [
    "--allow-net",
    "--allow-read",
    "--allow-env=TASKS_*,TASKS_KEY,TASKS_URL",
    "--ignore-env",
    "--allow-run",
    "--no-prompt",
  ]);
});
