/**
 * The command `migrate` of services that can use PostgreSQL. It makes the tables
 * of a service, or prints how, for a role that the service does not have.
 *
 * @module
 */

import { type CommandIo, readCommand } from "../command_line.ts";
import { attempt } from "../command_work.ts";
import { type OptionValues, switchOption, textOption } from "../options.ts";
import {
  grantUse,
  migrate,
  type MigrationPlan,
  printMigrations,
  readVersion,
} from "./migrations.ts";
import { schemaOptions, withConnection } from "./schema.ts";
import type { DatabaseSettings } from "./settings.ts";

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

const ABOUT = "Makes the tables of DATABASE_SCHEMA on PostgreSQL, or brings " +
  "them up to date. The service does the same when it starts, if its role may " +
  "make tables; otherwise run this as a role that may. Instances of the " +
  "version before may run. Exit codes: 0 success, 1 failure, 2 invalid " +
  "arguments.";

/** Options of {@linkcode runMigrate}. */
interface MigrateOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** The program, such as `tasks`. */
  readonly service: string;
  /** Where the data is. */
  readonly settings: OptionValues<DatabaseSettings> & {
    readonly store: "sqlite" | "postgres";
  };
  /** The tables of a schema. */
  readonly plan: (schema: string) => MigrationPlan;
}

/** Runs the command; returns the exit code. */
export async function runMigrate(
  args: readonly string[],
  { io, service, settings, plan }: MigrateOptions,
): Promise<number> {
  const command = { usage: `${service} migrate`, about: ABOUT, positionals: 0 };
  const read = readCommand(FLAGS, { args, io, command });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  return await attempt(io, async () => {
    if (settings.store !== "postgres") {
      throw new Error(
        "Cannot migrate: STORE is sqlite, whose files the service migrates " +
          "when it starts",
      );
    }
    const options = schemaOptions(settings, service);
    const { schema, connection } = options;
    return await withConnection(options, async (pool) => {
      const { version: from } = await readVersion(pool, schema);
      if (values.print) {
        const role = values.role || connection.user;
        const sql = printMigrations(plan(schema), { from, role });
        io.out(values.json ? JSON.stringify({ schema, from, sql }) : sql);
        return 0;
      }
      await migrate(pool, plan(schema));
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
