/**
 * Calls of a tasks service whose answers a test decides.
 *
 * @module
 */

import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  scriptedFetch,
  type SeenRequest,
} from "../../memory/testing/scripted_fetch.ts";
import { ServiceCalls, type TasksConnection } from "../service_calls.ts";

/** The URL of the tenant. */
export const URL_OF_TENANT = "https://acme.tasks.test";

/** A way to call a scripted service, with a clock that a test moves. */
export function createScriptedCalls(
  script: (request: SeenRequest) => Response | Promise<Response>,
  more: Partial<TasksConnection> = {},
): {
  readonly calls: ServiceCalls;
  readonly seen: readonly SeenRequest[];
  readonly clock: FakeClock;
} {
  const { fetch, seen } = scriptedFetch(script);
  const clock = new FakeClock();
  const calls = new ServiceCalls({
    ...{ url: URL_OF_TENANT, key: "dk_1", clock },
    fetch: fetch as typeof globalThis.fetch,
    ...more,
  });
  return { calls, seen, clock };
}

/** Lets the fake clock run until the promise settles. */
export async function waitFor<T>(
  promise: Promise<T>,
  clock: FakeClock,
): Promise<T> {
  let isSettled = false;
  const settle = (): void => void (isSettled = true);
  promise.then(settle, settle);
  while (!isSettled) {
    // Lets a pending answer arrive before the clock moves on.
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (!isSettled) await clock.advanceAsync(100);
  }
  return await promise;
}

/** An answer of the service that refuses a request. */
export function problem(
  status: number,
  { headers, ...more }: Record<string, unknown> & {
    readonly headers?: Record<string, string>;
  } = {},
): Response {
  const code = more["code"] ?? "overloaded";
  const body = { type: "x", title: "Overloaded", status, code, ...more };
  return Response.json({ instance: "/", request_id: "req_1", ...body }, {
    status,
    headers: headers ?? {},
  });
}
