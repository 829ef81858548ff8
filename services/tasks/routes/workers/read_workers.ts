/**
 * Routes that tell of workers.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, tenantOf } from "../../http/call.ts";
import { answerPage, filterTextOf, type PageQuery } from "../../http/page.ts";
import { answerOfRead, etagOf } from "../../http/etag.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { viewWorker } from "./worker_view.ts";
import { factsOf, findWorker, noSuchWorker } from "./worker_finder.ts";
import {
  PAGE_QUERY,
  WORKER,
  WORKER_EXAMPLE,
  WORKER_PAGE,
} from "./worker_schema.ts";

const FILTER = filterTextOf({ list: "workers" });

/** The routes that list workers and read one. */
export function readWorkerRoutes(parts: ApiParts): readonly AnyRoute[] {
  const { engine } = parts;
  return [
    defineRoute({
      method: "GET",
      path: "/v1/workers",
      hosts: "tenant",
      operationId: "listWorkers",
      summary: "List workers, the oldest first",
      tags: ["workers"],
      access: { kind: "member", role: "viewer", scope: "workers:read" },
      query: PAGE_QUERY,
      answers: {
        200: { description: "A page of workers", shape: WORKER_PAGE },
      },
      problems: ["bad_cursor"],
      handle: (call) => listWorkers(call, parts),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/workers/:id",
      hosts: "tenant",
      operationId: "getWorker",
      summary: "Read a worker",
      description: "`:id` is its id or its name. The entity tag is that of " +
        "its definition: `status`, `last_seen_at`, `instances` and `counts` " +
        "change without it.",
      tags: ["workers"],
      access: { kind: "member", role: "viewer", scope: "workers:read" },
      answers: {
        200: {
          description: "The worker",
          shape: WORKER,
          example: WORKER_EXAMPLE,
        },
      },
      conditions: "read",
      problems: [],
      async handle(call) {
        const worker = await findWorker(
          engine,
          tenantOf(call).id,
          call.params.id ?? "",
        );
        if (worker === undefined) return noSuchWorker();
        const etag = etagOf(worker.version);
        const refusal = answerOfRead(call, etag);
        if (refusal !== undefined) return refusal;
        const facts = await factsOf(engine, worker);
        return json(viewWorker(worker, facts), { headers: { etag } });
      },
    }),
  ];
}

function listWorkers(
  call: Call<PageQuery, unknown>,
  { engine, cursors }: ApiParts,
): Promise<Answer> {
  const { query } = call;
  const tenantId = tenantOf(call).id;
  return answerPage(call, {
    cursors,
    tenantId,
    filter: FILTER,
    query,
    url: `${call.baseUrl}/v1/workers`,
    async read(position) {
      const { values, hasMore } = await engine.parts.repositories.workers
        .list(tenantId, {
          limit: query.limit,
          ...(typeof position === "string" ? { afterId: position } : {}),
        });
      const data = await Promise.all(
        values.map(async (worker) =>
          viewWorker(worker, await factsOf(engine, worker))
        ),
      );
      const last = values.at(-1);
      return hasMore && last !== undefined ? { data, next: last.id } : { data };
    },
  });
}
