/**
 * The command `tasks move`, which moves the data of a service on SQLite to
 * PostgreSQL while the service runs.
 *
 * @module
 */

import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { attempt, progressTeller } from "../../shared/command_work.ts";
import { textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { storePlace, withStore } from "../open_store.ts";
import { MovingFolder } from "../store/sqlite/moving_folder.ts";
import { type MoveProgress, moveRows, type Moving } from "../transfer/move.ts";
import { DATA_FLAGS } from "./data_commands.ts";
import {
  commandTools,
  storeSettings,
  type TransferOptions,
} from "./transfer_commands.ts";

const FLAGS = {
  ...DATA_FLAGS,
  to: textOption({
    default: "",
    help: "The database: postgres://user@host/name. Prefer " +
      "DATABASE_PASSWORD_FILE or PGPASSWORD to a password in it, because " +
      "other users see arguments. Default: DATABASE_URL.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tasks move --to postgres://USER@HOST/NAME",
  about: "Copies all data of a data folder to an empty schema of PostgreSQL " +
    "(DATABASE_SCHEMA), while the service runs on the folder. Follows what " +
    "the service writes, compares everything, and then keeps the service " +
    "from writing for five seconds at most. After that the folder is closed: " +
    "the service answers 503 and does not start on it again. Start it with " +
    "STORE=postgres and the same master keys. An interrupted move leaves the " +
    "service as it is; run it again. Exit codes: 0 moved, 1 differences or " +
    "failure, 2 invalid arguments.",
  positionals: 0,
};

const STEPS: Readonly<Record<MoveProgress["step"], string>> = {
  copying: "Tasks copied so far",
  following: "Later writes copied so far",
  comparing: "Tasks compared so far",
  freezing: "Writes left to copy while the service waits",
};

/** Runs `tasks move`; returns the exit code. */
export async function runMove(
  args: readonly string[],
  options: TransferOptions,
): Promise<number> {
  const { io, clock } = options;
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  return await attempt(io, async () => {
    const of = storeSettings(options, values["data-dir"]);
    const settings = {
      ...of,
      store: "postgres" as const,
      databaseUrl: values.to || of.databaseUrl,
    };
    if (settings.databaseUrl === undefined) {
      const problem = "--to is missing";
      return wrongArguments(problem, { io, command: COMMAND }).exitCode;
    }
    const { dataDir } = settings;
    const to = storePlace(settings);
    const source = new MovingFolder(dataDir, { nowMs: () => clock.nowMs() });
    try {
      const moving = await withStore(
        settings,
        commandTools(options, settings),
        async (target) =>
          await moveRows({
            source,
            from: `the data folder ${quote(await Deno.realPath(dataDir))}`,
            target,
            to,
            clock,
            onProgress: progressTeller(
              { io, clock },
              ({ step, done, of }: MoveProgress) =>
                `${STEPS[step]}: ${done}` +
                (of === undefined ? "" : ` of ${of}`),
            ),
          }),
      );
      if (values.json) io.out(JSON.stringify({ dataDir, to, ...moving }));
      else if (moving.kind !== "differs") {
        for (const line of tellMoved(moving, { dataDir, to })) io.out(line);
      }
      if (moving.kind !== "differs") return 0;
      io.err(
        `The copy differs, so the service goes on with ${quote(dataDir)}:\n` +
          moving.differences.join("\n"),
      );
      return 1;
    } finally {
      source.close();
    }
  });
}

function tellMoved(
  moving: Exclude<Moving, { kind: "differs" }>,
  { dataDir, to }: { readonly dataDir: string; readonly to: string },
): readonly string[] {
  return [
    moving.kind === "moved"
      ? `Moved ${quote(dataDir)} to ${to}: ${moving.tasks} tasks and what ` +
        `was written meanwhile; the service could not write for ` +
        `${Math.ceil(moving.frozenMs)} ms`
      : `Finished an earlier move of ${quote(dataDir)} to ${to}`,
    "Now stop the service, and start it with STORE=postgres, that database " +
    "and the same master keys",
  ];
}
