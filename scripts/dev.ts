/**
 * Starts the services for development: on loopback, with rules to play with,
 * anew after each change of the code.
 *
 * Variables that are set are kept, so `PORT=9080 deno task dev` moves a port.
 *
 * @module
 */

import { announcement, devEnvironment, LISTENERS } from "./dev/ratelimit.ts";
import { takenPorts } from "./dev/taken_ports.ts";
import { Supervisor } from "./dev/supervisor.ts";
import { decidedSource, withStd } from "./launch/deno_process.ts";
import { permissionFlags } from "./permissions.ts";
import { messageOf, print, tell } from "./terminal.ts";

const READY_TIMEOUT_MS = 60_000;

if (import.meta.main) {
  try {
    Deno.exit(await dev());
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(1);
  }
}

async function dev(): Promise<number> {
  const env = devEnvironment((name) => Deno.env.get(name));
  const taken = await takenPorts(LISTENERS, env);
  for (const line of taken) tell(line);
  if (taken.length > 0) return 1;

  const root = new URL("../", import.meta.url);
  const execPath = Deno.execPath();
  const args = withStd([
    "run",
    ...permissionFlags("ratelimit", { execPath }),
    "services/ratelimit/main.ts",
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
    healthy(`http://127.0.0.1:${env.PORT}/healthcheck`),
  ]);
  if (ready) print(announcement(env));
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
      // Nobody listens yet.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
