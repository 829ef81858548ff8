/**
 * Makes calls of routes without a server, for tests.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../../shared/slices.ts";
import type { CallContext } from "../call.ts";

/** A call of the tenant "acme", with the overrides of a test. */
export function demoCall(overrides: Partial<CallContext> = {}): CallContext {
  return {
    params: {},
    path: "/api/v1/tasks",
    rawQuery: "",
    pausing: NEVER_PAUSING,
    charge() {},
    requestId: "req_1",
    tenant: {
      id: "ten_1",
      version: 1,
      domain: "acme",
      status: "active",
      plan: "free",
      timezone: "UTC",
      createdAtMs: 0,
      updatedAtMs: 0,
    },
    limits: undefined,
    caller: undefined,
    baseUrl: "https://acme.example.com/api",
    peer: "192.0.2.1",
    nowMs: 0,
    extraWrites: () => [],
    reauthorize: () => ({ kind: "ok", caller: undefined }),
    reauthorizer: () => () => ({ kind: "ok", caller: undefined }),
    header: () => undefined,
    isGone: () => false,
    onGone: () => () => {},
    ...overrides,
  };
}
