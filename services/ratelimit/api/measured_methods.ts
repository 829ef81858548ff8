/**
 * Statistics of unary gRPC methods: how many calls, and how long they took.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { GrpcMethod, GrpcMethods } from "../../shared/grpc/method.ts";
import type { Stats } from "../stats/stats.ts";

/**
 * The same methods, counted under `ratelimit_server.‹Method›.total_requests`
 * and timed under `.response_time`. Streams are left as they are.
 */
export function measuredMethods(
  methods: GrpcMethods,
  options: { readonly stats: Stats; readonly clock: Clock },
): GrpcMethods {
  return Object.fromEntries(
    Object.entries(methods).map(([path, method]) => [
      path,
      measured(path, method, options),
    ]),
  );
}

function measured(
  path: string,
  method: GrpcMethod,
  options: { readonly stats: Stats; readonly clock: Clock },
): GrpcMethod {
  if (method.kind !== "unary") return method;
  const { stats, clock } = options;
  const name = `ratelimit_server.${path.slice(path.lastIndexOf("/") + 1)}`;
  const requests = stats.counter(`${name}.total_requests`);
  const responseTime = stats.timer(`${name}.response_time`);
  return {
    kind: "unary",
    handle(request, call) {
      requests.add();
      const startedMs = clock.nowMs();
      const done = (): void => responseTime.record(clock.nowMs() - startedMs);
      const answer = method.handle(request, call);
      if (answer instanceof Promise) return answer.finally(done);
      done();
      return answer;
    },
  };
}
