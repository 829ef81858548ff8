/**
 * The commands for users of the tasks service over HTTP.
 *
 * @module
 */

import type { Command } from "../../shared/program.ts";
import type { CliIo } from "./connection.ts";

const ABOUT_ACTION = {
  pause: "keep tasks from starting until they are resumed",
  resume: "let paused tasks start again",
  run: "run tasks now, whatever their dates",
} as const;

/** All commands for users of the tasks service. */
export function taskCommands(io: CliIo): readonly Command[] {
  return [
    {
      name: "create",
      about: "create a task of a running service, and optionally wait for " +
        "its end",
      run: async (args) => {
        const { runCreate } = await import("./create.ts");
        return await runCreate(args, io);
      },
    },
    {
      name: "list",
      about: "list tasks",
      run: async (args) => {
        const { runList } = await import("./show.ts");
        return await runList(args, io);
      },
    },
    {
      name: "show",
      about: "show a task, why it waits, and its last attempts",
      run: async (args) => {
        const { runShow } = await import("./show.ts");
        return await runShow(args, io);
      },
    },
    {
      name: "tail",
      about: "follow the history of a task until it ends",
      run: async (args) => {
        const { runTail } = await import("./show.ts");
        return await runTail(args, io);
      },
    },
    {
      name: "events",
      about: "show events as they happen",
      run: async (args) => {
        const { runEvents } = await import("./events.ts");
        return await runEvents(args, io);
      },
    },
    {
      name: "retry",
      about: "retry ended tasks",
      run: async (args) => {
        const { runAction } = await import("./act.ts");
        return await runAction("retry", { args, io });
      },
    },
    {
      name: "cancel",
      about: "cancel tasks",
      run: async (args) => {
        const { runAction } = await import("./act.ts");
        return await runAction("cancel", { args, io });
      },
    },
    ...(["pause", "resume", "run"] as const).map((name): Command => ({
      name,
      about: ABOUT_ACTION[name],
      run: async (args) => {
        const { runAction } = await import("./act.ts");
        return await runAction(name, { args, io });
      },
    })),
    {
      name: "event",
      about: "send an event to a task, which may wait for it",
      run: async (args) => {
        const { runEvent } = await import("./signal.ts");
        return await runEvent(args, io);
      },
    },
    ...(["approve", "reject"] as const).map((name): Command => ({
      name,
      about: `${name} what a task waits for`,
      run: async (args) => {
        const { runDecide } = await import("./signal.ts");
        return await runDecide(name, { args, io });
      },
    })),
    {
      name: "overview",
      about: "show what tasks do and what needs attention",
      run: async (args) => {
        const { runOverview } = await import("./overview.ts");
        return await runOverview(args, io);
      },
    },
    {
      name: "usage",
      about: "show how much of its plan the tenant uses",
      run: async (args) => {
        const { runUsage } = await import("./usage.ts");
        return await runUsage(args, io);
      },
    },
    {
      name: "workers",
      about: "list, create and remove workers, and create credentials",
      run: async (args) => {
        const { runWorkers } = await import("./workers.ts");
        return await runWorkers(args, io);
      },
    },
    {
      name: "calendars",
      about: "put, list, show and remove calendars that schedules skip",
      run: async (args) => {
        const { runCalendars } = await import("./calendars.ts");
        return await runCalendars(args, io);
      },
    },
    {
      name: "webhooks",
      about: "manage webhooks, which events are sent to, and their deliveries",
      run: async (args) => {
        const { runWebhooks } = await import("./webhooks.ts");
        return await runWebhooks(args, io);
      },
    },
    {
      name: "alerts",
      about: "list, create, test and remove alerts on what tasks do",
      run: async (args) => {
        const { runAlerts } = await import("./alerts.ts");
        return await runAlerts(args, io);
      },
    },
    {
      name: "keys",
      about: "list, create, rotate and remove API keys",
      run: async (args) => {
        const { runKeys } = await import("./keys.ts");
        return await runKeys(args, io);
      },
    },
  ];
}
