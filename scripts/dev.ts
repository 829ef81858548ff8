/**
 * Starts the services for development: on loopback, with example rules, and
 * restarts a service after each change of its code.
 *
 * Environment variables that are set take precedence, so
 * `PORT=9080 deno task dev` moves a port.
 *
 * @module
 */

import { makeDataFolders } from "./dev/data_folders.ts";
import type { DevService } from "./dev/dev_service.ts";
import { KEY_SERVERS } from "./dev/key_servers.ts";
import { formatPrefix, wantsColours } from "./dev/output.ts";
import { RATELIMIT } from "./dev/ratelimit.ts";
import { RELAYER } from "./dev/relayer.ts";
import { TASKS } from "./dev/tasks.ts";
import { describeTaken, takenPorts } from "./dev/taken_ports.ts";
import { Supervisor } from "./dev/supervisor.ts";
import { decidedSource, withStd } from "./launch/deno_process.ts";
import { permissionFlags } from "./permissions.ts";
import { isHealthy } from "./smoke/smoke.ts";
import { print, tell, toMessage } from "./terminal.ts";

const READY_TIMEOUT_MS = 60_000;

/** The services to start; each of them is restarted separately. */
const SERVICES: readonly DevService[] = [
  RATELIMIT,
  TASKS,
  RELAYER,
  ...KEY_SERVERS,
];

/**
 * The code that every service consists of, beside its own folder
 * `services/<name>`; a change of it restarts the service.
 */
const SHARED_CODE = ["deno.json", "proto", "services/shared"];
/** Services that also run code of the SDK. */
const SDK_SERVICES: readonly string[] = ["relayer", "keyserver"];

if (import.meta.main) {
  try {
    Deno.exit(await dev());
  } catch (error) {
    tell(toMessage(error));
    Deno.exit(1);
  }
}

async function dev(): Promise<number> {
  const read = (name: string) => Deno.env.get(name);
  await makeDataFolders(
    SERVICES.flatMap(({ dataFolder }) => dataFolder ?? []),
    read,
  );
  const runs = await Promise.all(SERVICES.map(async (service) => ({
    service,
    env: await service.environment(read),
  })));
  const taken = runs.flatMap(({ service, env }) => takenPorts(service, env));
  if (taken.length > 0) {
    tell(describeTaken(taken, `${denoCommand()} task dev`));
    return 1;
  }
  const started = runs.map((one, index) => start(one, index));
  let isStopping = false;
  for (const { ended } of started) {
    void ended.then(() => {
      isStopping = true;
    });
  }
  const ready = await Promise.all(started.map(({ ready }) => ready));
  const failed = ready.filter((fault) => fault !== undefined);
  if (failed.length > 0) {
    tell(["", "Not ready:", ...failed.map((line) => `  ${line}`)].join("\n"));
  } else if (!isStopping) {
    print("\nEverything is ready. Ctrl+C stops it; the data stay.");
  }
  const codes = await Promise.all(started.map(({ ended }) => ended));
  if (failed.length > 0) return 1;
  return codes.find((code) => code !== 0) ?? 0;
}

/**
 * Starts one service, which runs until it is told to stop. When it can't start,
 * the other services keep running, as the developer may need only them.
 */
function start(
  { service, env }: {
    readonly service: DevService;
    readonly env: Readonly<Record<string, string>>;
  },
  index: number,
): {
  /**
   * Resolves with the reason why the service does not run, or with `undefined`
   * once it is ready.
   */
  readonly ready: Promise<string | undefined>;
  /** Resolves with the exit code of the service. */
  readonly ended: Promise<number>;
} {
  const root = new URL("../", import.meta.url);
  const execPath = Deno.execPath();
  const args = withStd([
    "run",
    ...permissionFlags(service.name, {
      execPath,
      serving: (name) => env[name] ?? Deno.env.get(name),
    }),
    `services/${service.name}/main.ts`,
  ], decidedSource());
  const name = service.label ?? service.name;
  const prefix = formatPrefix(name, {
    index,
    width: Math.max(
      ...SERVICES.map(({ name, label = name }) => label.length),
    ),
    isColoured: wantsColours((name) => Deno.env.get(name), {
      isTerminal: Deno.stderr.isTerminal(),
    }),
  });
  const supervisor = new Supervisor({
    command: () =>
      new Deno.Command(execPath, {
        args: [...args],
        cwd: root,
        env,
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }),
    watched: [
      ...SHARED_CODE,
      `services/${service.name}`,
      ...SDK_SERVICES.includes(service.name) ? ["sdk"] : [],
    ].map((path) => decodeURIComponent(new URL(path, root).pathname)),
    write: (line) => tell(prefix + line),
    tell: (line) => tell(prefix + line),
  });
  const ended = supervisor.run();
  return { ended, ready: isReady() };

  async function announce(): Promise<string | undefined> {
    try {
      const said = await service.announcement(env, denoCommand());
      if (said !== "") print(said);
      return undefined;
    } catch (error) {
      // A service that was told to stop may no longer answer the requests that
      // its announcement makes.
      return supervisor.isStopped
        ? undefined
        : `${name} ran, then: ${toMessage(error)}`;
    }
  }

  async function isReady(): Promise<string | undefined> {
    const outcome = await Promise.race([
      ended.then((code) =>
        supervisor.isStopped
          ? undefined
          : `ended with ${code}: ${supervisor.lastLine}`
      ),
      healthy(service.readyUrl(env)).then((isHealthy) =>
        isHealthy ? undefined : `not ready after ${READY_TIMEOUT_MS / 1_000} s`
      ),
    ]);
    if (outcome !== undefined) return `${name} ${outcome}`;
    // The announcement makes requests to the service; if the service is told to
    // stop meanwhile, the program does not wait for them.
    return await Promise.race([
      ended.then(() => undefined),
      announce(),
    ]);
  }
}

/**
 * Returns the command with which the user runs Deno: through npx when this
 * program was started so.
 */
function denoCommand(): string {
  return Deno.env.get("npm_command") === "exec"
    ? `npx -y deno@${Deno.version.deno}`
    : "deno";
}

/**
 * Waits until the health check answers 200; returns false when it does not in
 * time.
 */
async function healthy(url: string): Promise<boolean> {
  const deadlineMs = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadlineMs) {
    if (await isHealthy(url)) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
