/**
 * Collects the routes of tasks, bulk actions, schedules, calendars and the
 * overview.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import type { AnyRoute } from "../../http/route.ts";
import { bulkRoutes } from "./bulk_routes.ts";
import { calendarRoutes } from "../calendars/calendar_routes.ts";
import { checkHistoryRoute } from "./check_history.ts";
import { createBatchRoute } from "./create_batch.ts";
import { createTaskRoute } from "./create_task.ts";
import { explainTaskRoute } from "./explain_task.ts";
import { KeyLocks } from "../../engine/key_locks.ts";
import { listTasksRoute } from "./list_tasks.ts";
import {
  readTaskRoute,
  removeTaskRoute,
  taskVerbRoutes,
} from "./task_verbs.ts";
import { retryTaskRoute } from "./retry_task.ts";
import { activityRoute } from "../overview/activity_route.ts";
import { overviewRoute } from "../overview/overview_route.ts";
import { schedulePreviewRoute } from "./schedule_preview.ts";
import { taskAttemptsRoute } from "./task_attempts.ts";
import { taskHistoryRoute } from "./task_history.ts";
import type { TasksParts } from "./task_schema.ts";
import { updateTaskRoutes } from "./update_task.ts";
import { waitRoutes } from "./wait_routes.ts";

/** Makes the routes of tasks and of what is counted of them. */
export function taskRoutes(
  api: ApiParts,
  { operations }: Pick<TasksParts, "operations">,
): readonly AnyRoute[] {
  const locks = new KeyLocks({ clock: api.engine.parts.clock });
  const parts: TasksParts = { ...api, locks, operations };
  return [
    createTaskRoute(parts),
    createBatchRoute(parts),
    listTasksRoute(parts),
    ...bulkRoutes(parts),
    readTaskRoute(parts),
    ...updateTaskRoutes(parts),
    removeTaskRoute(parts),
    ...taskVerbRoutes(parts),
    retryTaskRoute(parts),
    ...waitRoutes(parts),
    taskHistoryRoute(parts),
    checkHistoryRoute(parts),
    taskAttemptsRoute(parts),
    explainTaskRoute(parts),
    schedulePreviewRoute(parts),
    ...calendarRoutes(api),
    overviewRoute(api),
    activityRoute(api),
  ];
}
