/**
 * Starts and tries an executable of a service, whose file name has to be that
 * of the service, or of `tercet`, which holds all services:
 * `deno task smoke dist/ratelimit`.
 *
 * @module
 */

import { basename, resolve } from "node:path";
import {
  isServiceName,
  SERVICE_NAMES,
  type ServiceName,
} from "./permissions.ts";
import { runProgram } from "./run_program.ts";
import { SMOKES } from "./smoke/services.ts";
import { smoke } from "./smoke/smoke.ts";
import { print, tell, toMessage } from "./terminal.ts";

/**
 * The name of the executable that holds all services; its first argument names
 * a service.
 */
const EVERYTHING = "tercet";
/** The id of a user without an account: the last but one of 16 bits. */
const STRANGER = 65_534;
/** The name of the executable of the worker, which serves nothing. */
const WORKER = "tercet-worker";

async function main(args: readonly string[]): Promise<number> {
  const [path, ...rest] = args;
  if (path === undefined || rest.length > 0 || path.startsWith("-")) {
    tell("Usage: deno task smoke <executable>");
    return 2;
  }
  const name = basename(path);
  if (name === WORKER) return await tryWorker(resolve(path));
  if (name !== EVERYTHING && !isServiceName(name)) {
    tell(
      `Cannot try "${path}": its name is none of ` +
        [...SERVICE_NAMES, EVERYTHING, WORKER].join(", "),
    );
    return 2;
  }
  try {
    const services = name === EVERYTHING ? SERVICE_NAMES : [name];
    for (const surroundings of await surroundingsHere()) {
      await tryServices(resolve(path), {
        services,
        isNamed: name === EVERYTHING,
        surroundings,
      });
    }
    print(`Smoke test passed: ${path}`);
    return 0;
  } catch (error) {
    tell(`Smoke test failed: ${toMessage(error)}`);
    return 1;
  }
}

/** The environment and user with which an executable is started. */
interface Surroundings {
  /** A description of these surroundings, for messages. */
  readonly name: string;
  /**
   * The command that starts the executable, which is appended to it; empty to
   * start it directly.
   */
  readonly wrapper: (folder: string) => readonly string[];
  /** Environment variables beside those of the service. */
  readonly env: (folder: string) => Readonly<Record<string, string>>;
  /** The user that gets the data folder; the present one when absent. */
  readonly uid?: number;
}

const AS_IT_IS: Surroundings = {
  name: "as it is",
  wrapper: () => [],
  env: () => ({}),
};

/** Surroundings as on strict machines; only root can create them. */
const STRICT: readonly Surroundings[] = [{
  name: "a user without a home",
  wrapper: () => [
    ...["setpriv", `--reuid=${STRANGER}`, `--regid=${STRANGER}`],
    "--clear-groups",
  ],
  env: (folder) => ({ HOME: "", TERCET_HOME: `${folder}/cache` }),
  uid: STRANGER,
}, {
  name: "a read-only root with a data folder",
  wrapper: (folder) => [
    ...["unshare", "--mount", "sh", "-c"],
    `mount --bind "${folder}" "${folder}" && mount -o remount,ro,bind / && ` +
    'exec "$0" "$@"',
  ],
  env: (folder) => ({ HOME: "/", TERCET_HOME: `${folder}/cache` }),
}];

/**
 * Returns the surroundings that can be created on this machine; each other one
 * is reported as not tried.
 */
async function surroundingsHere(): Promise<readonly Surroundings[]> {
  const here = [AS_IT_IS];
  for (const surroundings of STRICT) {
    const [program = "", ...args] = surroundings.wrapper("/tmp");
    try {
      const { success } = await new Deno.Command(program, {
        args: [...args, "true"],
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).output();
      if (success) here.push(surroundings);
      else tell(`Not tried: ${surroundings.name}, which takes root`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      tell(`Not tried: ${surroundings.name}, for there is no ${program}`);
    }
  }
  return here;
}

/**
 * Starts, exercises and stops services one after the other; all of them unpack
 * into the same folder.
 */
async function tryServices(
  executable: string,
  { services, isNamed, surroundings }: {
    readonly services: readonly ServiceName[];
    /** Whether the service is named in the first argument of the executable. */
    readonly isNamed: boolean;
    readonly surroundings: Surroundings;
  },
): Promise<void> {
  const { uid, wrapper, env } = surroundings;
  const folder = await Deno.makeTempDir({ prefix: "tercet-smoke-" });
  try {
    let path = executable;
    if (uid !== undefined) {
      // A copy, since another user can't look into the folder of the user who
      // built it.
      path = `${folder}/${basename(executable)}`;
      await Deno.copyFile(executable, path);
    }
    for (const service of services) {
      const data = `${folder}/data-${service}`;
      await Deno.mkdir(data);
      const part = await SMOKES[service](data);
      if (uid !== undefined) await handOver(folder, uid);
      const [command = "", ...args] = [
        ...wrapper(folder),
        path,
        ...isNamed ? [service] : [],
      ];
      await smoke([{ ...part, env: { ...part.env, ...env(folder) } }], {
        ...{ command, args },
      });
    }
  } catch (error) {
    throw new Error(`${surroundings.name}: ${toMessage(error)}`, {
      cause: error,
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Gives a folder and everything in it to a user. */
async function handOver(path: string, uid: number): Promise<void> {
  await Deno.chown(path, uid, uid);
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    const inner = `${path}/${name}`;
    if (isDirectory) await handOver(inner, uid);
    else await Deno.chown(inner, uid, uid);
  }
}

/**
 * Checks only that the worker starts: its work needs a service and is covered
 * by the tests.
 */
async function tryWorker(path: string): Promise<number> {
  try {
    const said = await runProgram(path, ["--version"]);
    if (!said.startsWith(WORKER)) throw new Error(said);
    print(`Smoke test passed: ${path}`);
    return 0;
  } catch (error) {
    tell(`Smoke test failed: ${toMessage(error)}`);
    return 1;
  }
}

// At the end of the file, so that all constants above are initialized.
if (import.meta.main) Deno.exit(await main(Deno.args));
