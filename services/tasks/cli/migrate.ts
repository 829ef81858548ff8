/**
 * The command `tasks migrate`, which makes the tables of the service on
 * PostgreSQL, or prints how, for a role that the service does not have.
 *
 * @module
 */

import {
  type CommandIo,
  type CommandShape,
  readCommand,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import {
  grantUse,
  migrate,
  printMigrations,
  readVersion,
} from "../../shared/postgres/migrations.ts";
import type { DataSettings } from "../settings.ts";
import { withConnection } from "../../shared/postgres/schema.ts";
import { migrationPlan } from "../store/postgres/schema_access.ts";
import { schemaOf } from "../stored_data.ts";
import { attempt } from "./data_commands.ts";

const FLAGS = {
  print: switchOption({
    help: "Print the statements that are missing, for psql, and run none.",
  }),
  role: textOption({
    default: "",
    help: "The role of the service, which gets the rights to use the tables. " +
      "Default: with --print, the user of DATABASE_URL.",
  }),
  json: switchOption({ help: "Write one JSON object." }),
} as const;

const COMMAND: CommandShape = {
  usage: "tasks migrate",
  about: "Makes the tables of DATABASE_SCHEMA on PostgreSQL, or brings them " +
    "up to date. The service does the same when it starts, if its role may " +
    "make tables; otherwise run this as a role that may. Instances of the " +
    "version before may run. Exit codes: 0 success, 1 failure, 2 invalid " +
    "arguments.",
  positionals: 0,
};

/** Runs the command; returns the exit code. */
export async function runMigrate(
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
  const { values } = read;
  return await attempt(io, async () => {
    if (settings.store !== "postgres") {
      throw new Error(
        "Cannot migrate: STORE is sqlite, whose file the service migrates " +
          "when it starts",
      );
    }
    const options = schemaOf(settings);
    const { schema, connection } = options;
    const plan = migrationPlan(schema);
    return await withConnection(options, async (pool) => {
      const { version: from } = await readVersion(pool, schema);
      if (values.print) {
        const role = values.role || connection.user;
        const sql = printMigrations(plan, { from, role });
        io.out(values.json ? JSON.stringify({ schema, from, sql }) : sql);
        return 0;
      }
      await migrate(pool, plan);
      if (values.role !== "") {
        await grantUse(pool, { schema, role: values.role });
      }
      const { version } = await readVersion(pool, schema);
      io.out(
        values.json
          ? JSON.stringify({ schema, from, version })
          : from === version
          ? `The schema "${schema}" is up to date: version ${version}`
          : `Migrated the schema "${schema}" to version ${version}`,
      );
      return 0;
    });
  });
}
