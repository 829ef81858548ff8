/**
 * What calls cost: those that make somebody else work cost more.
 *
 * @module
 */

/** Points of calls by method and path; all others cost 1. */
const WEIGHTS: ReadonlyMap<string, number> = new Map([
  ["POST /api/analyze", 5],
  ["POST /api/remember", 5],
  ["POST /api/remember/bulk", 10],
  ["POST /api/remember/manual", 3],
  ["POST /api/restore", 3],
  ["POST /api/ask", 2],
]);

const AGENTS = /^\/v1\/owners\/[^/]+\/agents$/;

/**
 * The points that a call costs. A call of analyze costs one more for each fact
 * that came of it.
 *
 * @param path The path without its query.
 */
export function rateWeight(method: string, path: string): number {
  if (method === "GET" && AGENTS.test(path)) return 2;
  return WEIGHTS.get(`${method} ${path}`) ?? 1;
}
