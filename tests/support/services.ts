/**
 * Registers tests that need an installed program: a server, another runtime, a
 * browser.
 *
 * @module
 */

/** A program that tests may need. */
export type ServiceName =
  | "redis-server"
  | "memcached"
  | "nghttp"
  | "curl"
  | "node"
  | "bun"
  | "chromium"
  | "sqlite3"
  | "postgres"
  | "pgbouncer";

/**
 * Registers a test that runs when all named programs are on the path. When one
 * is missing, the test is ignored and a line says so; with REQUIRE_SERVICES=1
 * in the environment it fails instead. Needs permission to run the programs and
 * to read that variable while tests are registered.
 */
export function serviceTest(
  names: readonly ServiceName[],
  definition: Deno.TestDefinition,
): void {
  const missing = names.filter((name) => !canRun(name));
  if (missing.length === 0) {
    Deno.test(definition);
    return;
  }
  const text = `Cannot run "${definition.name}": ${
    missing.join(" and ")
  } not found on the path`;
  if (Deno.env.get("REQUIRE_SERVICES") === "1") {
    Deno.test({
      ...definition,
      fn: () => {
        throw new Error(text);
      },
    });
    return;
  }
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
  Deno.test({ ...definition, ignore: true });
}

/** Returns whether a program is on the path and starts. */
export function canRun(name: ServiceName): boolean {
  try {
    return new Deno.Command(name, {
      args: ["--version"],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    // Programs that are not on the path are left out of the permissions as
    // well.
    if (error instanceof Deno.errors.NotCapable) return false;
    throw error;
  }
}
