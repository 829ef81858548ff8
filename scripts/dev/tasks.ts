/**
 * Configures the tasks service for development, and the text that announces it.
 *
 * @module
 */

import { type DevService, storingService } from "./dev_service.ts";

/** The tenant that is created at the first start. */
const TENANT = "acme";

/** The tasks service as `deno task dev` runs it. */
export const TASKS: DevService = storingService({
  name: "tasks",
  port: 8070,
  metricsPort: 9091,
  readyPath: "/healthz",
  settings: (read) => ({
    SERVICE_HOST: "localhost",
    ACCOUNTS_MODE: "open",
    DEV_TENANT_FALLBACK: "true",
    // Push workers on this machine may be called, which is refused by default.
    PUSH_ALLOW: read("PUSH_ALLOW") || "127.0.0.1,localhost,::1",
    PUSH_ALLOW_HTTP: "true",
  }),
  async announcement(env, deno) {
    const key = await ownerKey(env);
    const sdkUrl = `http://127.0.0.1:${env.PORT}/t/${TENANT}`;
    const { PORT: port } = env;
    const list = "/api/v1/tasks";
    return `
tasks is ready

  API     http://${TENANT}.localhost:${port}/api/v1/
  data    ${env.DATA_DIR}

The tasks of the tenant "${TENANT}"; the second line is for resolvers that don't know
*.localhost:

  curl -s http://${TENANT}.localhost:${port}${list} -H 'authorization: Bearer ${key}'
  curl -s http://127.0.0.1:${port}${list} -H 'host: ${TENANT}.localhost' -H 'authorization: Bearer ${key}'

A task from your own program; save it as try.ts beside mod.ts and run
${deno} run --allow-net try.ts:

  import { TasksClient } from "./sdk/tasks.ts";
  const tasks = new TasksClient({
    url: "${sdkUrl}",
    key: "${key}",
  });
  const worker = "mailer";
  await tasks.workers.ensure({ name: worker });
  const { id, status } = await tasks.create({ worker, data: "Ada" });
  console.log(id, status); // it waits until the worker asks for it
`;
  },
});

/**
 * Returns the key of the tenant's owner; creates the tenant when it does not
 * exist.
 */
async function ownerKey(
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const file = `${env.DATA_DIR}/${TENANT}.key`;
  try {
    return (await Deno.readTextFile(file)).trim();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const response = await fetch(`http://127.0.0.1:${env.PORT}/accounts`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ domain: TENANT }),
  });
  const made: unknown = await response.json();
  if (
    response.status !== 201 || typeof made !== "object" || made === null ||
    !("owner_key" in made) || typeof made.owner_key !== "string"
  ) {
    throw new Error(
      `Cannot make the tenant "${TENANT}": the service answered ` +
        `${response.status}; remove ${env.DATA_DIR} to start over`,
    );
  }
  await Deno.writeTextFile(file, `${made.owner_key}\n`, { mode: 0o600 });
  return made.owner_key;
}
