/**
 * Tenants for tests, over the API as anybody makes them.
 *
 * @module
 */

import type { TasksProcess } from "../support/tasks_process.ts";
import { TasksClient } from "./tasks_client.ts";

/** The host whose subdomains are the tenants. */
export const SERVICE_HOST = "tasks.test";

/** Where a process listens. */
export function targetOf(service: TasksProcess): { readonly port: number } {
  return { port: Number(new URL(service.url).port) };
}

/** A client of no tenant, for one of the service's own hosts. */
export function hostClient(service: TasksProcess, host: string): TasksClient {
  return new TasksClient({ target: () => targetOf(service), host });
}

/** Makes a tenant; gives a client with the key of its owner. */
export async function makeTenant(
  service: TasksProcess,
  domain = "acme",
): Promise<TasksClient> {
  const token = await ownerKeyOf(service, domain);
  return new TasksClient({
    target: () => targetOf(service),
    host: `${domain}.${SERVICE_HOST}`,
    token,
  });
}

/** Makes a tenant; gives the key of its owner. */
export async function ownerKeyOf(
  service: TasksProcess,
  domain: string,
): Promise<string> {
  using accounts = hostClient(service, `accounts.${SERVICE_HOST}`);
  const made = await accounts.expect<{ readonly owner_key: string }>(
    201,
    ["POST", "/", { domain }],
  );
  return made.owner_key;
}
