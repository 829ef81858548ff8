/**
 * Defines the permissions of everything that tasks of `deno.json` run. The
 * tasks name a set of permissions; start, dev, build and its fallback all take
 * their flags from here.
 *
 * This module is part of the launcher, and so are the settings that it imports:
 * none of them may import a package.
 *
 * @module
 */

import { parseGrpcTarget } from "../services/ratelimit/grpc_target.ts";
import { rateLimitSettings } from "../services/ratelimit/settings.ts";
import { MOGRIFIER_PREFIXES } from "../services/ratelimit/statistics_settings.ts";
import { parseRedisAddress } from "../services/ratelimit/counters/kvstore/redis/address.ts";
import { keyServerSettings } from "../services/keyserver/settings.ts";
import { relayerSettings } from "../services/relayer/settings.ts";
import type { Option, OptionTable } from "../services/shared/options.ts";
import {
  type ReadVariable,
  settingNames,
  settingPrefixes,
} from "../services/shared/settings.ts";
import { tasksSettings } from "../services/tasks/settings.ts";

/** The services; each has a set of permissions of its own. */
export const SERVICE_NAMES = [
  "ratelimit",
  "tasks",
  "relayer",
  "keyserver",
] as const;

/** The name of a service. */
export type ServiceName = typeof SERVICE_NAMES[number];

/** The name of a set of permissions. */
export type PermissionSet =
  | ServiceName
  | "tercet"
  | "tercet-worker"
  | "test"
  | "script";

/** What the flags of a set depend on. */
export interface PermissionOptions {
  /** The path of the Deno that runs this, which tests may start. */
  readonly execPath: string;
  /**
   * The environment of a service that is started to serve. The service may
   * write only to the paths that its settings name.
   *
   * @default none: a program that is built is not started yet, and commands get
   * the paths they write to as arguments, so both may write anywhere
   */
  readonly serving?: ReadVariable | undefined;
  /**
   * Returns whether a program is on the path. Programs that are not are left
   * out, since Deno would warn about each of them at every start.
   *
   * @default every program is on the path
   */
  readonly isThere?: ((program: string) => boolean) | undefined;
}

/** Returns whether a service has that name. */
export function isServiceName(name: string): name is ServiceName {
  return SERVICE_NAMES.some((service) => service === name);
}

/** Returns the flags for `deno run`, `deno test` or `deno compile`. */
export function permissionFlags(
  name: PermissionSet,
  options: PermissionOptions,
): readonly string[] {
  return SETS[name](options);
}

/**
 * Replaces each `--permissions=<set>` by the flags of the set.
 *
 * @throws {RangeError} When no set has that name.
 */
export function expandPermissions(
  args: readonly string[],
  options: PermissionOptions,
): readonly string[] {
  return args.flatMap((arg) => {
    const name = /^--permissions=(.*)$/.exec(arg)?.[1];
    if (name === undefined) return [arg];
    if (isPermissionSet(name)) return permissionFlags(name, options);
    throw new RangeError(
      `Cannot find the permissions "${name}": the sets are ` +
        Object.keys(SETS).join(", "),
    );
  });
}

/** All that `--allow-sys` allows as of Deno 2.9, except the inspector. */
const SYS_BUT_INSPECTOR = [
  "cpus",
  "getPriority",
  "getegid",
  "gid",
  "homedir",
  "hostname",
  "loadavg",
  "networkInterfaces",
  "osRelease",
  "osUptime",
  "setPriority",
  "statfs",
  "systemMemoryInfo",
  "uid",
  "userInfo",
  "username",
];

const SERVICE_TABLES = [
  rateLimitSettings,
  tasksSettings,
  relayerSettings,
  keyServerSettings,
] as const;

/** Programs that tests run where they are installed. */
const TEST_PROGRAMS: readonly string[] = [
  ...["redis-server", "memcached", "node", "bun", "chromium", "mkfifo"],
  ...["sqlite3", "nghttp", "curl"],
  ...["postgres", "initdb", "pg_basebackup", "pg_dump", "pgbouncer"],
  ...["setpriv", "bash"],
];

/**
 * Variables that commands for users of the tasks service read, beside their
 * flags.
 */
const TASK_VARIABLES: readonly string[] = ["TASKS_KEY", "TASKS_URL"];

/**
 * Variables that commands for memories read, beside their flags and the
 * settings of models: a relayer and a credential for it.
 */
const MEMORY_VARIABLES: readonly string[] = [
  "TERCET_ACCOUNT",
  "TERCET_KEY",
  "TERCET_NAMESPACE",
  "TERCET_RELAYER",
  "TERCET_TOKEN",
];

/**
 * Variables of other programs that commands for memories read: the user's
 * folders, a namespace of the existing relayer's package, and where a file that
 * unpacks itself is.
 */
const USER_VARIABLES: readonly string[] = [
  ...["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"],
  ...["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"],
  ...["CLAUDE_CONFIG_DIR", "CODEX_HOME", "MEMWAL_NAMESPACE"],
  "TERCET_EXECUTABLE",
];

/**
 * V8 shrinks the heap of a process that has been idle for eight seconds, and
 * throws away compiled code with it: the requests after each pause then cost two
 * to three times as much, for half a minute. A service gives its memory back
 * after ten idle minutes instead.
 */
export const KEEPS_CODE = "--v8-flags=--memory-reducer-delay-ms=600000";

const SETS: Readonly<
  Record<PermissionSet, (options: PermissionOptions) => readonly string[]>
> = {
  // Net and read: settings name the targets. Write: only unix sockets, the
  // service's own and those of the servers that it calls. Never run or ffi.
  // Sys: V8's inspector, for CPU profiles; no flag can allow it by name, so all
  // of sys is allowed and all else of it denied.
  ratelimit: ({ serving }) => [
    "--allow-net",
    "--allow-read",
    ...writeFlags([
      (read) => read(rateLimitSettings.grpcUds),
      (read) =>
        socketPath(
          read(rateLimitSettings.kvstoreUrl),
          read(rateLimitSettings.kvstoreSocketType),
        ),
      (read) =>
        socketPath(
          read(rateLimitSettings.perSecondUrl),
          read(rateLimitSettings.perSecondSocketType),
        ),
      (read) => grpcSocketPath(read(rateLimitSettings.discoveryServer)),
    ], serving),
    ...environmentFlags(settingNames(rateLimitSettings), {
      prefixes: MOGRIFIER_PREFIXES,
    }),
    "--allow-sys",
    `--deny-sys=${SYS_BUT_INSPECTOR.join(",")}`,
    "--no-prompt",
    // Several threads listen on one port, which Deno has as an unstable option.
    "--unstable-net",
    KEEPS_CODE,
  ],
  tasks: storingService(tasksSettings),
  relayer: storingService(relayerSettings),
  keyserver: storingService(keyServerSettings),
  // The permissions of all services together, as each of them is a command of
  // this executable. Servers are better off with the executable of their
  // service, which has only its own permissions.
  tercet: () => [
    "--allow-net",
    "--allow-read",
    "--allow-write",
    ...environmentFlags(
      [
        ...SERVICE_TABLES.flatMap((table) => settingNames(table)),
        ...TASK_VARIABLES,
        ...MEMORY_VARIABLES,
      ],
      { prefixes: MOGRIFIER_PREFIXES, alone: USER_VARIABLES },
    ),
    "--allow-sys",
    `--deny-sys=${SYS_BUT_INSPECTOR.join(",")}`,
    "--no-prompt",
    // Several threads of ratelimit listen on one port.
    "--unstable-net",
    KEEPS_CODE,
  ],
  // Run: the worker runs the program that its user names. Net: the address of
  // the service. Read: the file of the credential.
  "tercet-worker": () => [
    "--allow-net",
    "--allow-read",
    ...environmentFlags(TASK_VARIABLES),
    "--allow-run",
    "--no-prompt",
  ],
  // Tests start servers and services on this machine. Net is not restricted: a
  // unix socket can be allowed only by its whole path, and the tests' paths are
  // new each time.
  test: ({ execPath, isThere = () => true }) => [
    "--allow-net",
    "--allow-read",
    "--allow-write",
    "--allow-env",
    // The package "ai" asks for the host name when it is loaded.
    "--allow-sys=hostname",
    `--allow-run=${[execPath, ...TEST_PROGRAMS.filter(isThere)].join(",")}`,
    "--no-prompt",
  ],
  // The project's own scripts start other processes, which have permissions of
  // their own.
  script: () => [
    "--allow-net",
    "--allow-read",
    "--allow-write",
    "--allow-env",
    "--allow-run",
    "--no-prompt",
  ],
};

/**
 * The permissions of a service that keeps data. Net and read: settings name the
 * listeners, the files of keys and certificates, and what the service calls.
 * Write: the data folder. Never run, ffi or sys.
 */
function storingService(
  table: OptionTable & { readonly dataDir: Option<unknown> },
): (options: PermissionOptions) => readonly string[] {
  return ({ serving }) => [
    "--allow-net",
    "--allow-read",
    ...writeFlags([(read) => read(table.dataDir)], serving),
    ...environmentFlags(settingNames(table)),
    "--no-prompt",
    KEEPS_CODE,
  ];
}

type PathOf = (read: (setting: Option<unknown>) => string) => string;

/**
 * Returns the flags that allow writing to the paths that settings name; an
 * empty path is left out.
 */
function writeFlags(
  paths: readonly PathOf[],
  serving: ReadVariable | undefined,
): readonly string[] {
  if (serving === undefined) return ["--allow-write"];
  const read = ({ name, aliases, defaultText }: Option<unknown>): string =>
    [name, ...aliases].map(serving).find((text) => text) ?? defaultText ?? "";
  const named = new Set(paths.map((path) => path(read)).filter((path) => path));
  if (named.size === 0) return [];
  // Commas separate the paths in the flag, and a comma in a path can't be
  // escaped.
  return [...named].some((path) => path.includes(","))
    ? ["--allow-write"]
    : [`--allow-write=${[...named].join(",")}`];
}

/**
 * Returns the path of the unix socket at which a store listens; empty for other
 * addresses.
 */
function socketPath(address: string, socketType: string): string {
  const isUnix = socketType.toLowerCase() === "unix";
  const parsed = parseRedisAddress(address, isUnix ? socketType : undefined);
  return parsed.kind === "parsed" && parsed.address.kind === "unix"
    ? parsed.address.path
    : "";
}

/**
 * Returns the path of the unix socket of a gRPC server; empty for other
 * addresses.
 */
function grpcSocketPath(address: string): string {
  const target = parseGrpcTarget(address);
  return target?.kind === "unix" ? target.path : "";
}

function isPermissionSet(name: string): name is PermissionSet {
  return Object.hasOwn(SETS, name);
}

/**
 * Returns the flags that allow a service to read its own settings, and every
 * variable that begins like one of them, so that it can report misspelt names;
 * every other variable looks as if it were not set. Variables that stand
 * `alone` are those of other programs, and allow no others.
 */
function environmentFlags(
  names: readonly string[],
  { prefixes = [], alone = [] }: {
    readonly prefixes?: readonly string[];
    readonly alone?: readonly string[];
  } = {},
): readonly string[] {
  const seen = [...settingPrefixes(names), ...prefixes]
    .map((prefix) => `${prefix}*`);
  const all = [...new Set([...names, ...seen, ...alone])].sort();
  return [`--allow-env=${all.join(",")}`, "--ignore-env"];
}
