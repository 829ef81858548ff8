/**
 * Starts the services for development: on loopback, with rules to play with,
 * and restarts them after each change of the code.
 *
 * Variables that are set are kept, so `PORT=9080 deno task dev` moves a port.
 *
 * @module
 */

import type { DevService } from "./dev/dev_service.ts";
import { KEY_SERVERS } from "./dev/key_servers.ts";
import { RATELIMIT } from "./dev/ratelimit.ts";
import { RELAYER } from "./dev/relayer.ts";
import { TASKS } from "./dev/tasks.ts";
import { takenPorts } from "./dev/taken_ports.ts";
import { Supervisor } from "./dev/supervisor.ts";
import { decidedSource, withStd } from "./launch/deno_process.ts";
import { permissionFlags } from "./permissions.ts";
import { messageOf, print, tell } from "./terminal.ts";

const READY_TIMEOUT_MS = 60_000;

/** All services; each is run and restarted on its own. */
const SERVICES: readonly DevService[] = [
  RATELIMIT,
  TASKS,
  RELAYER,
  ...KEY_SERVERS,
];

if (import.meta.main) {
  try {
    Deno.exit(await dev());
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(1);
  }
}

async function dev(): Promise<number> {
  const runs = await Promise.all(SERVICES.map(async (service) => ({
    service,
    env: await service.environment((name) => Deno.env.get(name)),
  })));
  let isFree = true;
  for (const { service, env } of runs) {
    for (const line of await takenPorts(service.listeners, env)) {
      tell(line);
      isFree = false;
    }
  }
  if (!isFree) return 1;
  const codes = await Promise.all(runs.map(run));
  return codes.find((code) => code !== 0) ?? 0;
}

/** Runs one service until it is told to stop. */
async function run(
  { service, env }: {
    readonly service: DevService;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<number> {
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
  const supervisor = new Supervisor({
    command: () =>
      new Deno.Command(execPath, { args: [...args], cwd: root, env }),
    watched: ["deno.json", "proto", "services"].map((path) =>
      decodeURIComponent(new URL(path, root).pathname)
    ),
    tell,
  });
  const ended = supervisor.run();
  const ready = await Promise.race([
    ended.then(() => false),
    healthy(service.readyUrl(env)),
  ]);
  const said = ready ? await service.announcement(env) : "";
  if (said !== "") print(said);
  return await ended;
}

/** Waits until the service answers that it is healthy. */
async function healthy(url: string): Promise<boolean> {
  const deadlineMs = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadlineMs) {
    try {
      const response = await fetch(url);
      await response.body?.cancel();
      if (response.ok) return true;
    } catch (error) {
      // It does not listen yet.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
