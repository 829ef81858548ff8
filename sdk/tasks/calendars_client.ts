/**
 * Client for a tenant's calendars.
 *
 * @module
 */

import type { Calendar, CalendarList } from "./api_types.ts";
import type { PagedList } from "./pages.ts";
import { Resource } from "./resource.ts";
import type {
  CallOptions,
  ChangeOptions,
  ServiceCalls,
} from "./service_calls.ts";

/** Milliseconds that the service may take to find the dates of many tasks. */
const MOVING_MS = 60_000;

/**
 * Manages a tenant's calendars, at whose times the schedules that name them in
 * `repeat.calendars` have no slots; the member `calendars` of a
 * {@linkcode TasksClient}.
 *
 * @example Leave out holidays
 * ```ts
 * import { TasksClient } from "@tercet/sdk/tasks";
 *
 * const { calendars } = new TasksClient({
 *   url: "https://acme.tasks.example.com",
 *   key: "dk_your_key",
 *   // A service that answers at once, so that this example runs by itself.
 *   fetch: () => Promise.resolve(Response.json({ name: "holidays", spans: 1 })),
 * });
 * const { spans } = await calendars.put("holidays", [
 *   "BEGIN:VCALENDAR",
 *   "BEGIN:VEVENT",
 *   "DTSTART;VALUE=DATE:20271225",
 *   "END:VEVENT",
 *   "END:VCALENDAR",
 * ].join("\r\n"));
 * console.log(spans); // 1
 * ```
 */
export class CalendarsClient {
  readonly #calendars: Resource<Calendar, CalendarList>;

  /** Created by a {@linkcode TasksClient}. */
  constructor(calls: ServiceCalls) {
    this.#calendars = new Resource(calls, "calendar");
  }

  /**
   * Makes a calendar of an iCalendar file, or replaces the file of the one with
   * that name. Tasks that wait for a slot have it found again.
   *
   * @throws {TasksError} `invalid` when the file cannot be read, and others.
   */
  put(
    name: string,
    ical: string,
    options: ChangeOptions = {},
  ): Promise<Calendar> {
    return this.#calendars.change(name, {
      ...{ verb: "put", method: "PUT", body: { ical } },
      extraMs: MOVING_MS,
    }, options);
  }

  /** Lists all calendars, without their files. */
  list(
    options: CallOptions & {
      /** The number of calendars on a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<Calendar, CalendarList> {
    return this.#calendars.list(options);
  }

  /**
   * Returns one calendar, with its file.
   *
   * @throws {TasksError} `not_found` and others.
   */
  get(name: string, options: CallOptions = {}): Promise<Calendar> {
    return this.#calendars.get(name, options);
  }

  /**
   * Removes a calendar.
   *
   * @throws {TasksError} `calendar_in_use` while a live task names it.
   */
  remove(name: string, options: ChangeOptions = {}): Promise<void> {
    return this.#calendars.remove(name, options);
  }
}
