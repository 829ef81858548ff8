/**
 * `tercet tasks calendars`: puts, lists, shows and removes the calendars that
 * schedules leave out.
 *
 * @module
 */

import type { Calendar, TasksClient } from "../../../sdk/tasks.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { formatTable, shownTime } from "./table.ts";

const COMMAND: CommandShape = {
  usage:
    "tercet tasks calendars list | put NAME FILE | show NAME | remove NAME",
  about:
    "Manages calendars, whose events schedules skip. FILE is an iCalendar " +
    "file, or - for standard input; show prints it. Exit codes: 0 success, 1 " +
    "refused or no answer, 2 invalid arguments.",
  positionals: 3,
  leastPositionals: 1,
};

/** How many arguments follow each verb. */
const VERBS: ReadonlyMap<string, number> = new Map([
  ["list", 0],
  ["put", 2],
  ["show", 1],
  ["remove", 1],
]);

/** Runs the command; returns the exit code. */
export async function runCalendars(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(CONNECTION, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", ...more] } = read;
  const fail = (fault: string): number =>
    wrongArguments(fault, { io, command: COMMAND }).exitCode;
  if (VERBS.get(verb) !== more.length) {
    return fail(
      VERBS.has(verb)
        ? `Cannot ${verb} calendars: it takes ${VERBS.get(verb)} arguments ` +
          `more, not ${more.length}`
        : `Cannot run ${quote(verb)}: there is no such command`,
    );
  }
  const [name = "", path = ""] = more;
  let ical = "";
  if (verb === "put") {
    try {
      ical = path === "-" ? await io.readInput() : await io.readText(path);
    } catch (error) {
      return fail(`Cannot read ${quote(path)}: ${describeError(error)}`);
    }
  }
  const connected = await connect(values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks: { calendars } } = connected;
  const { json } = values;
  return await asking(io, async () => {
    switch (verb) {
      case "list":
        return await listCalendars(calendars, { io, json });
      case "show": {
        const calendar = await calendars.get(name);
        io.out(json ? JSON.stringify(calendar) : calendar.ical ?? "");
        return 0;
      }
      case "remove":
        await calendars.remove(name);
        io.out(json ? JSON.stringify({ name }) : `${name} removed`);
        return 0;
      default: {
        const put = await calendars.put(name, ical);
        io.out(
          json
            ? JSON.stringify(put)
            : `${name}: ${put.events} events, ${put.spans} spans of time; ` +
              `${put.tasks_moved} tasks have another date`,
        );
        return 0;
      }
    }
  });
}

async function listCalendars(
  calendars: TasksClient["calendars"],
  { io, json }: { readonly io: CliIo; readonly json: boolean },
): Promise<number> {
  const rows: (readonly string[])[] = [];
  for await (const calendar of calendars.list()) {
    if (json) io.out(JSON.stringify(calendar));
    else rows.push(toRow(calendar));
  }
  if (!json) io.out(formatTable(["NAME", "EVENTS", "SPANS", "UPDATED"], rows));
  return 0;
}

function toRow(calendar: Calendar): readonly string[] {
  const { name, events, spans, updated_at: updatedAt } = calendar;
  return [name, `${events}`, `${spans}`, shownTime(updatedAt)];
}
