/**
 * A key server as a process of its own, with its production permissions.
 *
 * @module
 */

import type { KeyServer } from "../../sdk/vault/key_server_client.ts";
import { makeSecret } from "../../services/keyserver/secret_file.ts";
import {
  type DataServiceOptions,
  DataServiceProcess,
  listening,
  runToEnd,
} from "./data_service_process.ts";
import { RecordingLogger } from "./recording_logger.ts";
import type { ServiceRun } from "./service_process.ts";

const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  METRICS_PORT: "0",
};

/** Starts the service and waits until it listens. */
export function startKeyServer(
  options: DataServiceOptions,
): Promise<KeyServerProcess> {
  return listening(new KeyServerProcess(options));
}

/** Runs the program to its end, for commands and for starts that fail. */
export function runKeyServer(
  options: DataServiceOptions,
): Promise<ServiceRun> {
  return runToEnd(new KeyServerProcess(options));
}

/** A process of the service, from its start to its end. */
export class KeyServerProcess extends DataServiceProcess {
  /** Starts the process without waiting for anything. */
  constructor({ dataDir, env, args, fromSource }: DataServiceOptions) {
    super({
      service: "keyserver",
      env: { ...LOCAL_ENV, DATA_DIR: dataDir, ...env },
      ...(args === undefined ? {} : { args }),
      fromSource,
    });
  }
}

/**
 * A group of running key servers; they end and their folders are removed when
 * the group is disposed of.
 */
export class KeyServerGroup {
  /** The processes in their order; a stopped one stays in the list. */
  readonly processes: readonly KeyServerProcess[];
  /**
   * The addresses and public keys of the key servers, as clients are configured
   * with them.
   */
  readonly keyServers: readonly KeyServer[];
  readonly #folders: readonly string[];

  private constructor(
    processes: readonly KeyServerProcess[],
    { keyServers, folders }: {
      readonly keyServers: readonly KeyServer[];
      readonly folders: readonly string[];
    },
  ) {
    this.processes = processes;
    this.keyServers = keyServers;
    this.#folders = folders;
  }

  /** Creates secrets and starts `count` key servers. */
  static async start(
    count: number,
    env: Readonly<Record<string, string>>,
  ): Promise<KeyServerGroup> {
    const folders: string[] = [];
    const keys: Omit<KeyServer, "url">[] = [];
    for (let at = 0; at < count; at++) {
      const dataDir = await Deno.makeTempDir({ prefix: "keyserver_test_" });
      folders.push(dataDir);
      keys.push(await makeKey(dataDir));
    }
    const processes = await Promise.all(
      folders.map((dataDir) => startKeyServer({ dataDir, env })),
    );
    const keyServers = keys.map((key, at) => ({
      ...key,
      url: processes[at]?.url ?? "",
    }));
    return new KeyServerGroup(processes, { keyServers, folders });
  }

  /** Ends all key servers and removes their folders. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.processes) await process.kill();
    for (const folder of this.#folders) {
      await Deno.remove(folder, { recursive: true });
    }
  }
}

/** Creates a key as `keyserver key new` does. */
export async function makeKey(
  dataDir: string,
): Promise<Pick<KeyServer, "objectId" | "publicKey">> {
  const logger = new RecordingLogger();
  const keys = await makeSecret({ dataDir, masterKeys: "", logger });
  keys.secret.fill(0);
  return { objectId: keys.objectId, publicKey: keys.publicKey };
}
