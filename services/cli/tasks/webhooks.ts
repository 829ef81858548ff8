/**
 * `tercet tasks webhooks`: manages the webhooks that events are sent to, and
 * their deliveries.
 *
 * @module
 */

import type {
  TasksClient,
  Webhook,
  WebhookChanges,
  WebhookDelivery,
} from "../../../sdk/tasks.ts";
import {
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  choiceOption,
  repeatedOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { formatTable, shownTime } from "./table.ts";

/** How many deliveries are listed without `--json`. */
const SHOWN = 50;

const FLAGS = {
  ...CONNECTION,
  callUrl: textOption({ help: "Where events are sent." }),
  name: textOption({ help: "What the webhook is called." }),
  type: repeatedOption({
    help: "A type of events, such as task.failed or task.*.",
  }),
  worker: textOption({ help: "Only events of this worker and its tasks." }),
  job: textOption({ help: "Only events of tasks of this job." }),
  group: textOption({ help: "Only events of tasks of this group." }),
  webhook: textOption({ help: "Only deliveries of this webhook." }),
  task: textOption({ help: "Only deliveries about this task." }),
  status: choiceOption({
    values: {
      pending: "pending",
      sending: "sending",
      retrying: "retrying",
      delivered: "delivered",
      failed: "failed",
    },
    help: "Only deliveries with this status.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tercet tasks webhooks list | create | update ID | enable ID | " +
    "disable ID | rotate ID | test ID | remove ID | deliveries | " +
    "delivery ID | redeliver ID",
  about: "Manages webhooks and their deliveries. A signing secret is shown " +
    "once. Exit codes: 0 success, 1 refused, no answer or a failed test, 2 " +
    "invalid arguments.",
  positionals: 2,
  leastPositionals: 1,
};

const VERBS_OF_ONE: readonly string[] = [
  ...["update", "enable", "disable", "rotate", "test", "remove"],
  ...["delivery", "redeliver"],
];
const VERBS_OF_ALL: readonly string[] = ["list", "create", "deliveries"];

type WebhooksClient = TasksClient["webhooks"];

/** The values of the command's options. */
interface Values extends Pick<WebhookDeliveryFilter, "task" | "webhook"> {
  readonly callUrl?: string | undefined;
  readonly name?: string | undefined;
  readonly type: readonly string[];
  readonly worker?: string | undefined;
  readonly job?: string | undefined;
  readonly group?: string | undefined;
  readonly status?: WebhookDelivery["status"] | undefined;
  readonly json: boolean;
}

type WebhookDeliveryFilter = NonNullable<
  Parameters<WebhooksClient["deliveries"]>[0]
>;

/** Runs the command; returns the exit code. */
export async function runWebhooks(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", id = ""] } = read;
  const needsId = VERBS_OF_ONE.includes(verb);
  const fault = !needsId && !VERBS_OF_ALL.includes(verb)
    ? `Cannot run ${quote(verb)}: there is no such command`
    : needsId !== (id !== "")
    ? `Cannot ${verb} webhooks: ${
      needsId ? "the id is missing" : "it takes no id"
    }`
    : verb === "create" && values.callUrl === undefined
    ? "Cannot create webhook: --call-url is missing"
    : undefined;
  if (fault !== undefined) {
    return wrongArguments(fault, { io, command: COMMAND }).exitCode;
  }
  const connected = await connect(values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  const { tasks: { webhooks } } = connected;
  return await asking(io, () => run(webhooks, { verb, id, values, io }));
}

async function run(
  webhooks: WebhooksClient,
  { verb, id, values, io }: {
    readonly verb: string;
    readonly id: string;
    readonly values: Values;
    readonly io: CliIo;
  },
): Promise<number> {
  const { json } = values;
  const say = (answer: unknown, text: string): number => {
    io.out(json ? JSON.stringify(answer) : text);
    return 0;
  };
  switch (verb) {
    case "list":
      return await listWebhooks(webhooks, { io, json });
    case "deliveries":
      return await listDeliveries(webhooks, { io, values });
    case "create": {
      const url = values.callUrl ?? "";
      const made = await webhooks.create({ ...toChanges(values), url });
      return say(made, `${made.id}\n${shownSecret(made)}`);
    }
    case "rotate": {
      const made = await webhooks.rotate(id);
      return say(made, shownSecret(made));
    }
    case "remove":
      await webhooks.remove(id);
      return say({ id }, `${id} removed`);
    case "test": {
      const tested = await webhooks.test(id);
      const { outcome, error, answer } = tested;
      say(tested, `${outcome}: ${error?.message ?? answer?.status}`);
      return outcome === "delivered" ? 0 : 1;
    }
    case "delivery": {
      const delivery = await webhooks.delivery(id);
      return say(delivery, formatDelivery(delivery));
    }
    case "redeliver":
      return say(await webhooks.redeliver(id), `${id} is sent again`);
    default: {
      const changes = verb === "update"
        ? toChanges(values)
        : { enabled: verb === "enable" };
      const next = await webhooks.update(id, changes);
      return say(next, `${id} changed, version ${next.version}`);
    }
  }
}

function toChanges(
  { callUrl: url, name, type, worker, job, group }: Values,
): Omit<WebhookChanges, "url" | "enabled" | "name" | "types"> & {
  readonly url?: string | undefined;
  readonly name?: string | undefined;
  readonly types?: readonly string[] | undefined;
} {
  const types = type.length === 0 ? undefined : type;
  return { url, name, types, worker, job, group };
}

function shownSecret({ signing_secret: secret }: Webhook): string {
  return `${secret}\n\nKeep the secret now: it is not shown again.`;
}

async function listWebhooks(
  webhooks: WebhooksClient,
  { io, json }: { readonly io: CliIo; readonly json: boolean },
): Promise<number> {
  const rows: (readonly string[])[] = [];
  for await (const webhook of webhooks.list()) {
    if (json) io.out(JSON.stringify(webhook));
    else rows.push(toRow(webhook));
  }
  if (!json) io.out(formatTable(["ID", "STATE", "OPEN", "TYPES", "URL"], rows));
  return 0;
}

function toRow(webhook: Webhook): readonly string[] {
  const { id, url, types, enabled, failing_since: failing } = webhook;
  const { disabled_reason: reason, open_deliveries: open } = webhook;
  const state = !enabled
    ? `disabled${reason === null ? "" : `: ${reason}`}`
    : failing === null
    ? "ok"
    : `failing since ${shownTime(failing)}`;
  return [id, state, `${open}`, types.join(" "), url];
}

async function listDeliveries(
  webhooks: WebhooksClient,
  { io, values }: { readonly io: CliIo; readonly values: Values },
): Promise<number> {
  const { webhook, status, task, json, type: [type] } = values;
  const rows: (readonly string[])[] = [];
  const filter = { webhook, status, task, type };
  for await (const delivery of webhooks.deliveries(filter)) {
    if (json) io.out(JSON.stringify(delivery));
    else rows.push(toDeliveryRow(delivery));
    if (!json && rows.length === SHOWN) break;
  }
  if (!json) {
    io.out(formatTable(["ID", "STATUS", "TRIES", "TYPE", "ABOUT", "AT"], rows));
  }
  return 0;
}

function toDeliveryRow(delivery: WebhookDelivery): readonly string[] {
  const { id, status, attempts, type, task } = delivery;
  const at = shownTime(delivery.created_at);
  return [id, status, `${attempts}`, type, task ?? "", at];
}

function formatDelivery(
  delivery: Awaited<ReturnType<WebhooksClient["delivery"]>>,
): string {
  const { id, status, type, attempts, error, request, answer } = delivery;
  return [
    `${id}  ${type}  ${status}, sent ${attempts} times`,
    ...error === null ? [] : [error.message],
    "",
    request,
    ...answer === null || answer === "" ? [] : ["", answer],
  ].join("\n");
}
