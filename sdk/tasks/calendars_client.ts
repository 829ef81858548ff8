/**
 * Client for a tenant's calendars.
 *
 * @module
 */

import type { Calendar, CalendarList } from "./api_types.ts";
import type { PagedList } from "./pages.ts";
import {
  type CallOptions,
  type ChangeOptions,
  ifMatch,
  type ServiceCalls,
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
  readonly #calls: ServiceCalls;

  /** Created by a {@linkcode TasksClient}. */
  constructor(calls: ServiceCalls) {
    this.#calls = calls;
  }

  /**
   * Makes a calendar of an iCalendar file, or replaces the file of the one with
   * that name. Tasks that wait for a slot have it found again.
   *
   * @throws {TasksError} `invalid` when the file cannot be read, and others.
   */
  async put(
    name: string,
    ical: string,
    options: ChangeOptions = {},
  ): Promise<Calendar> {
    return await this.#calls.call({
      action: "put the calendar",
      method: "PUT",
      path: ["calendars", name],
      body: { ical },
      headers: ifMatch(options),
      extraMs: MOVING_MS,
      signal: options.signal,
    });
  }

  /** Lists all calendars, without their files. */
  list(
    { signal, limit }: CallOptions & {
      /** The number of calendars on a page. */
      readonly limit?: number | undefined;
    } = {},
  ): PagedList<Calendar, CalendarList> {
    return this.#calls.list("list calendars", {
      path: ["calendars"],
      query: { limit },
      signal,
    });
  }

  /**
   * Returns one calendar, with its file.
   *
   * @throws {TasksError} `not_found` and others.
   */
  async get(name: string, { signal }: CallOptions = {}): Promise<Calendar> {
    const path = ["calendars", name];
    return await this.#calls.read("show the calendar", { path, signal });
  }

  /**
   * Removes a calendar.
   *
   * @throws {TasksError} `calendar_in_use` while a live task names it.
   */
  async remove(name: string, options: ChangeOptions = {}): Promise<void> {
    await this.#calls.call({
      action: "remove the calendar",
      method: "DELETE",
      path: ["calendars", name],
      headers: ifMatch(options),
      signal: options.signal,
    });
  }
}
