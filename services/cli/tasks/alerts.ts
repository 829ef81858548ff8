/**
 * `tercet tasks alerts`: manages alerts on what tasks do.
 *
 * @module
 */

import type { Alert, NewAlert, TasksClient } from "../../../sdk/tasks.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  calendarDurationOption,
  choiceOption,
  integerOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { formatTable, shownTime } from "./table.ts";

const COUNTS = {
  created: "created",
  started: "started",
  succeeded: "succeeded",
  failed: "failed",
  lost: "lost",
  completed: "completed",
  missed: "missed",
} as const;

const FLAGS = {
  ...CONNECTION,
  callUrl: textOption({ help: "Where messages are sent." }),
  template: choiceOption({
    values: {
      standard: "standard",
      slack: "slack",
      discord: "discord",
      email: "email",
    },
    help: "The form of messages.",
  }),
  from: textOption({ help: "Who e-mails are from." }),
  to: textOption({ help: "Who e-mails are to." }),
  authorizationFile: textOption({
    help: "A file with the value of the header Authorization.",
  }),
  name: textOption({ help: "What messages call the alert." }),
  count: choiceOption({
    values: COUNTS,
    help: "Raises it when more than --over of these were counted.",
  }),
  over: integerOption({ help: "How many are no reason.", min: 0 }),
  nothing: choiceOption({
    values: COUNTS,
    help: "Raises it when none of these were counted.",
  }),
  within: calendarDurationOption({ help: "The time that is looked at." }),
  quiet: calendarDurationOption({
    help: "How long it is not raised again.",
  }),
  worker: textOption({ help: "Only tasks of this worker." }),
  job: textOption({ help: "Only tasks of this job of the worker." }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet tasks alerts list | create | test ID | remove ID",
  about: "Manages alerts. Exit codes: 0 success, 1 refused, no answer or a " +
    "failed test, 2 invalid arguments.",
  positionals: 2,
  leastPositionals: 1,
};

/** Runs the command; returns the exit code. */
export async function runAlerts(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", id = ""] } = read;
  const needsId = verb === "test" || verb === "remove";
  const { count, nothing, within, callUrl, authorizationFile } = values;
  const lacking = callUrl === undefined
    ? "--call-url"
    : (count ?? nothing) === undefined
    ? "--count or --nothing"
    : within === undefined
    ? "--within"
    : undefined;
  const fault = !["list", "create", "test", "remove"].includes(verb)
    ? `Cannot run ${quote(verb)}: there is no such command`
    : needsId !== (id !== "")
    ? `Cannot ${verb} alerts: ${
      needsId ? "the id is missing" : "it takes no id"
    }`
    : verb === "create" && lacking !== undefined
    ? `Cannot create alert: ${lacking} is missing`
    : undefined;
  if (fault !== undefined) {
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const connected = await connect(values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks: { alerts } } = connected;
  const { json } = values;
  return await asking(io, async () => {
    switch (verb) {
      case "list":
        return await listAlerts(alerts, { io, json });
      case "remove":
        await alerts.remove(id);
        io.out(json ? JSON.stringify({ id }) : `${id} removed`);
        return 0;
      case "test": {
        const tested = await alerts.test(id);
        const { outcome, error, answer } = tested;
        io.out(
          json
            ? JSON.stringify(tested)
            : `${outcome}: ${error?.message ?? answer?.status}`,
        );
        return outcome === "delivered" ? 0 : 1;
      }
      default: {
        const authorization = authorizationFile === undefined
          ? undefined
          : (await io.readText(authorizationFile)).trim();
        const made = await alerts.create(newAlert(values, authorization));
        io.out(json ? JSON.stringify(made) : formatMade(made));
        return 0;
      }
    }
  });
}

type Values = Pick<NewAlert["send"], "template" | "from" | "to"> & {
  readonly callUrl?: string | undefined;
  readonly name?: string | undefined;
  readonly count?: keyof typeof COUNTS | undefined;
  readonly over?: number | undefined;
  readonly nothing?: keyof typeof COUNTS | undefined;
  readonly within?: NewAlert["quiet"];
  readonly quiet?: NewAlert["quiet"];
  readonly worker?: string | undefined;
  readonly job?: string | undefined;
};

/** The alert that the options describe; the service judges them together. */
function newAlert(
  values: Values,
  authorization: string | undefined,
): NewAlert {
  const { count, over, nothing, within, worker, job } = values;
  const { callUrl: url = "", template, from, to } = values;
  return {
    name: values.name,
    quiet: values.quiet,
    when: {
      ...{ count, over, nothing, worker, job },
      ...count === undefined ? { for: within } : { within },
    },
    send: { url, template, from, to, authorization },
  };
}

function formatMade({ id, signing_secret: secret }: Alert): string {
  return secret === null || secret === undefined
    ? id
    : `${id}\n${secret}\n\nKeep the secret now: it is not shown again.`;
}

async function listAlerts(
  alerts: TasksClient["alerts"],
  { io, json }: { readonly io: CliIo; readonly json: boolean },
): Promise<number> {
  const rows: (readonly string[])[] = [];
  for await (const alert of alerts.list()) {
    if (json) io.out(JSON.stringify(alert));
    else rows.push(toRow(alert));
  }
  if (!json) io.out(formatTable(["ID", "STATE", "CONDITION", "URL"], rows));
  return 0;
}

function toRow(alert: Alert): readonly string[] {
  const { id, enabled, raised_at: raised, condition, send } = alert;
  const state = !enabled
    ? "disabled"
    : raised === null
    ? "ok"
    : `raised since ${shownTime(raised)}`;
  return [id, state, condition, send.url];
}
