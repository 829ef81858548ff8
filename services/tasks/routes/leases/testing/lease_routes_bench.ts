/**
 * Benchmark of the lease routes alone: reading bodies, making events and views,
 * writing JSON. The engine behind the routes answers at once.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../../../shared/slices.ts";
import type { Grant } from "../../../engine/waiter.ts";
import type { LeaseReport } from "../../../engine/leases.ts";
import type { Task } from "../../../domain/task.ts";
import { renderAnswer } from "../../../http/answer.ts";
import type { CallContext } from "../../../http/call.ts";
import type { AnyRoute } from "../../../http/route.ts";
import { addTask } from "../../workers/testing/add_task.ts";
import { leaseRoutes } from "../lease_routes.ts";
import { openLeaseApi } from "./lease_api.ts";

/** Tasks of each call. */
const TASKS = 50;

const api = await openLeaseApi();
const { engine, mailer } = api;
const grants: Grant[] = [];
for (let index = 0; index < TASKS; index++) {
  await addTask(api, mailer, {
    job: "welcome",
    dataJson: '{"to":"ada@example.com","template":"welcome","locale":"en"}',
  });
}
grants.push(
  ...await engine.leases.lease({
    tenantId: mailer.tenantId,
    workerId: mailer.id,
    max: TASKS,
    waitMs: 1_000,
  }),
);
const done = grants.map(({ task }): Task => ({ ...task, status: "complete" }));
engine.leases.lease = () => Promise.resolve(grants);
engine.leases.reportAll = (reports) =>
  Promise.resolve(reports.map((report, index) => applied(report, index)));
const routes = leaseRoutes(api.parts);

const reports = JSON.stringify({
  leases: grants.map(({ task, token }) => ({
    id: task.attempt?.id,
    token,
    action: "complete",
    result: { sent: true, messageId: "0a1b2c3d" },
  })),
});

Deno.bench(`lease ${TASKS} tasks`, { baseline: true }, async () => {
  await answer(routeOf("leaseTasks"), '{"max":50,"wait":"PT20S"}');
});

Deno.bench(`complete ${TASKS} tasks`, async () => {
  await answer(routeOf("sayLeases"), reports);
});

function applied(
  report: LeaseReport,
  index: number,
): Awaited<ReturnType<typeof engine.leases.report>> {
  const task = done[index];
  if (task === undefined) throw new Error("no task");
  report.event({ id: task.attempt?.id ?? "", tokenHash: "x" }, task);
  return { kind: "ok", task, isRepeated: false };
}

async function answer(route: AnyRoute, body: string): Promise<void> {
  const made = await route.answer(contextOf(), JSON.parse(body));
  const rendered = renderAnswer(made, {
    requestId: "req_1",
    scheme: "http",
    host: "a.test",
  });
  if (rendered.status !== 200) throw new Error(String(rendered.body));
}

function routeOf(operationId: string): AnyRoute {
  const route = routes.find((one) => one.operationId === operationId);
  if (route === undefined) throw new Error("no route");
  return route;
}

function contextOf(): CallContext {
  return {
    params: { id: "mailer" },
    rawQuery: "",
    pausing: NEVER_PAUSING,
    charge() {},
    requestId: "req_1",
    tenant: api.tenant,
    caller: {
      kind: "worker",
      tenantId: mailer.tenantId,
      workerId: mailer.id,
      credentialId: "wk_1",
      secrets: false,
    },
    baseUrl: "https://acme.tercet.test/api",
    peer: "192.0.2.1",
    nowMs: api.clock.nowMs(),
    extraWrites: () => [],
    limits: undefined,
    reauthorize: () => ({ kind: "ok", caller: undefined }),
    header: () => undefined,
    isGone: () => false,
    onGone: () => () => {},
  };
}
