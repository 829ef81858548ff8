/**
 * Tries an image of the Containerfile in the container engine of this machine:
 * each service starts without rights and on a read-only root, tells its health,
 * stops, and does so again on the same volume. It is skipped where there is no
 * engine.
 *
 * ```sh
 * deno run -A --no-config scripts/ci/image_check.ts IMAGE
 * ```
 *
 * @module
 */

import { runProgram } from "../run_program.ts";
import { print, tell, toMessage } from "../terminal.ts";

const PROGRAM = "/usr/local/bin/tercet";
const DATA = "/var/lib/tercet";
const RULES = decodeURIComponent(
  new URL("../../services/ratelimit/example/config", import.meta.url).pathname,
);
const HARDENED = [
  ...["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"],
  ...["--security-opt", "no-new-privileges"],
];

/** The services, with what each needs beside the image. */
const SERVICES: Readonly<Record<string, readonly string[]>> = {
  ratelimit: ["-v", `${RULES}:/srv/runtime_data/current/config:ro`],
  tasks: ["-e", "SERVICE_HOST=localhost"],
  relayer: [],
  keyserver: [],
};

/** Number of times that health is asked for, a second apart. */
const HEALTH_TRIES = 60;

/** Seconds after which the engine kills a container that does not stop. */
const STOP_SECONDS = 60;

/** Runs commands of a container engine. */
class Engine {
  readonly #program: string;

  private constructor(program: string) {
    this.#program = program;
  }

  /** Returns the first engine that answers, or `undefined`. */
  static async find(): Promise<Engine | undefined> {
    for (const program of ["docker", "podman"]) {
      const engine = new Engine(program);
      try {
        if ((await engine.try(["info"])).success) return engine;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return undefined;
  }

  /** Runs a command, and returns how it ended. */
  async try(args: readonly string[]): Promise<Deno.CommandOutput> {
    return await new Deno.Command(this.#program, { args: [...args] }).output();
  }

  /** Runs a command that has to succeed, and returns what it wrote. */
  async run(args: readonly string[]): Promise<string> {
    return (await runProgram(this.#program, args)).trim();
  }
}

async function check(engine: Engine, image: string): Promise<void> {
  const shell = ["run", "--rm", "--entrypoint", "/bin/sh", image, "-c", "true"];
  if ((await engine.try(shell)).success) throw new Error("There is a shell");
  await engine.run(["run", "--rm", ...HARDENED, image, "--version"]);
  const link = ["--entrypoint", "/bin/ratelimit", "--user", "65534:65534"];
  const version = await engine.run(
    ["run", "--rm", ...HARDENED, ...link, image, "--version"],
  );
  if (!version.startsWith("ratelimit ")) {
    throw new Error(`/bin/ratelimit tells "${version}" for its version`);
  }
  for (const service of Object.keys(SERVICES)) {
    await checkService(engine, image, service);
    print(`${service}: started, healthy and stopped, twice`);
  }
}

async function checkService(
  engine: Engine,
  image: string,
  service: string,
): Promise<void> {
  const name = `tercet-check-${service}-${Deno.pid}`;
  const mounted = [...HARDENED, "-v", `${name}:${DATA}`];
  try {
    if (service === "keyserver") {
      await engine.run([
        "run",
        "--rm",
        ...mounted,
        image,
        service,
        "key",
        "new",
      ]);
    }
    await engine.run([
      ...["run", "--detach", "--name", name, ...mounted],
      ...[...SERVICES[service] ?? [], image, service],
    ]);
    await stopHealthy(engine, { name, service });
    await engine.run(["start", name]);
    await stopHealthy(engine, { name, service });
  } finally {
    await engine.try(["rm", "--force", name]);
    await engine.try(["volume", "rm", name]);
  }
}

/** Waits for health, and stops the container, which has to end with 0. */
async function stopHealthy(
  engine: Engine,
  { name, service }: { readonly name: string; readonly service: string },
): Promise<void> {
  const ask = ["exec", name, PROGRAM, "health", service];
  for (let tries = 1; !(await engine.try(ask)).success; tries++) {
    if (tries === HEALTH_TRIES) {
      const { stderr } = await engine.try(["logs", name]);
      const log = new TextDecoder().decode(stderr);
      throw new Error(`${service} gives no health: ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  await engine.run(["stop", "-t", String(STOP_SECONDS), name]);
  const format = ["--format", "{{.State.ExitCode}}"];
  const code = await engine.run(["inspect", ...format, name]);
  if (code !== "0") throw new Error(`${service} ended with ${code}, not 0`);
}

if (import.meta.main) {
  const [image] = Deno.args;
  const engine = await Engine.find();
  if (image === undefined) {
    tell("usage: image_check.ts IMAGE");
    Deno.exit(2);
  } else if (engine === undefined) {
    print("Image check skipped: neither docker nor podman answers here");
  } else {
    try {
      await check(engine, image);
      print("Image check passed");
    } catch (error) {
      tell(`Image check failed: ${toMessage(error)}`);
      Deno.exit(1);
    }
  }
}
