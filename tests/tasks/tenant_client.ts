/**
 * Creates tenants for tests, over the API as any client does.
 *
 * @module
 */

import type { TasksProcess } from "../support/tasks_process.ts";
import { TasksClient } from "./tasks_client.ts";

/** The host whose subdomains name the tenants. */
export const SERVICE_HOST = "tasks.test";

/** Returns the address on which a process listens. */
export function getTarget(service: TasksProcess): { readonly port: number } {
  return { port: Number(new URL(service.url).port) };
}

/**
 * Returns a client for one of the service's own hosts, which belong to no
 * tenant.
 */
export function hostClient(service: TasksProcess, host: string): TasksClient {
  return new TasksClient({ target: () => getTarget(service), host });
}

/** Creates a tenant; returns a client with the key of the tenant's owner. */
export async function makeTenant(
  service: TasksProcess,
  domain = "acme",
): Promise<TasksClient> {
  const token = await createOwnerKey(service, domain);
  return new TasksClient({
    target: () => getTarget(service),
    host: `${domain}.${SERVICE_HOST}`,
    token,
  });
}

/**
 * Creates a tenant; returns the key of the tenant's owner.
 *
 * @param place the host whose subdomains name the tenants
 */
export async function createOwnerKey(
  service: TasksProcess,
  domain: string,
  { host = SERVICE_HOST }: { readonly host?: string } = {},
): Promise<string> {
  using accounts = hostClient(service, `accounts.${host}`);
  const made = await accounts.expect<{ readonly owner_key: string }>(
    201,
    ["POST", "/", { domain }],
  );
  return made.owner_key;
}
