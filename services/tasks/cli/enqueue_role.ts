/**
 * The command `tasks enqueue-role`, which says which roles of the database may
 * enqueue tasks in their own transactions, and for which tenant.
 *
 * @module
 */

import {
  type CommandIo,
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { attempt } from "../../shared/command_work.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import type { DataSettings } from "../settings.ts";
import {
  addEnqueueRole,
  listEnqueueRoles,
  removeEnqueueRole,
  type RightsLeft,
} from "../store/postgres/enqueue_roles.ts";
import { schemaOptions } from "../../shared/postgres/schema.ts";
import { withSchema } from "../store/postgres/schema_access.ts";

const FLAGS = {
  tenant: textOption({
    default: "",
    help: "Domain of the tenant whose tasks the role may enqueue.",
  }),
  remove: switchOption({ help: "Let the role enqueue no longer." }),
  json: switchOption({ help: "Write one JSON object." }),
} as const;

const COMMAND: CommandShape = {
  usage: "tasks enqueue-role [ROLE]",
  about: "Lets a role of the PostgreSQL database enqueue tasks of one tenant " +
    "in its own transactions, by the function `enqueue`, and read nothing. " +
    "Makes no role. Prints the statements that the owner of the tables has to " +
    "run if this role may not. Without ROLE, lists the roles. Exit codes: 0 " +
    "success, 1 failure, 2 invalid arguments.",
  positionals: 1,
  leastPositionals: 0,
};

/** Runs the command; returns the exit code. */
export async function runEnqueueRole(
  args: readonly string[],
  { io, settings }: {
    /** Where the command writes to. */
    readonly io: CommandIo;
    /** Where the data is. */
    readonly settings: DataSettings;
  },
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values: { tenant, remove, json }, positionals: [role] } = read;
  const wrong = findWrong({ role, tenant, remove });
  if (wrong !== undefined) {
    return wrongArguments(wrong, { io, command: COMMAND }).exitCode;
  }
  return await attempt(io, async () => {
    if (settings.store !== "postgres") {
      throw new Error(
        "Cannot let roles enqueue: STORE is sqlite, which has no roles",
      );
    }
    const options = schemaOptions(settings, "tasks");
    const { schema } = options;
    return await withSchema(options, async (pool) => {
      if (role === undefined) {
        const roles = await listEnqueueRoles(pool);
        io.out(json ? JSON.stringify({ schema, roles }) : describe(roles));
        return 0;
      }
      const { sql } = remove
        ? await removeEnqueueRole(pool, { schema, role })
        : await addEnqueueRole(pool, { schema, role, domain: tenant });
      if (json) {
        const domain = remove ? null : tenant.toLowerCase();
        io.out(JSON.stringify({ schema, role, domain, sql }));
        return 0;
      }
      io.out(
        remove
          ? `The role "${role}" may enqueue no longer`
          : `The role "${role}" may enqueue tasks of "${tenant}"`,
      );
      if (sql.length > 0) io.out(rest({ sql }));
      return 0;
    });
  });
}

function findWrong(
  { role, tenant, remove }: {
    readonly role: string | undefined;
    readonly tenant: string;
    readonly remove: boolean;
  },
): string | undefined {
  if (role === undefined) {
    return tenant !== "" || remove ? "ROLE is missing" : undefined;
  }
  if (remove) {
    return tenant === ""
      ? undefined
      : "--tenant and --remove exclude each other";
  }
  return tenant === "" ? "--tenant or --remove is missing" : undefined;
}

function describe(
  roles: readonly { readonly role: string; readonly domain: string }[],
): string {
  if (roles.length === 0) return "No role may enqueue";
  const width = Math.max(...roles.map(({ role }) => role.length));
  return roles.map(({ role, domain }) => `${role.padEnd(width)}  ${domain}`)
    .join("\n");
}

function rest({ sql }: RightsLeft): string {
  return [
    "The owner of the tables still has to run:",
    ...sql.map((statement) => `${statement};`),
  ].join("\n");
}
