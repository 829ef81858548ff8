/**
 * The smoke test of the rate limit service: it enforces a limit of one request
 * a day.
 *
 * @module
 */

import { freePorts, type SmokeService } from "./smoke.ts";

const RULES = `domain: smoke
descriptors:
  - key: caller
    rate_limit:
      unit: day
      requests_per_unit: 1
`;

const REQUEST = JSON.stringify({
  domain: "smoke",
  descriptors: [{ entries: [{ key: "caller", value: "anybody" }] }],
});

/** Describes the rate limit service with its rules in `folder`. */
export async function ratelimitSmoke(folder: string): Promise<SmokeService> {
  await Deno.mkdir(`${folder}/config`);
  await Deno.writeTextFile(`${folder}/config/smoke.yaml`, RULES);
  const [http, grpc, debug] = freePorts(3);
  const base = `http://127.0.0.1:${http}`;
  return {
    env: {
      BACKEND_TYPE: "memory",
      RUNTIME_ROOT: folder,
      HOST: "127.0.0.1",
      PORT: String(http),
      GRPC_HOST: "127.0.0.1",
      GRPC_PORT: String(grpc),
      DEBUG_HOST: "127.0.0.1",
      DEBUG_PORT: String(debug),
    },
    healthUrl: `${base}/healthcheck`,
    async exercise() {
      await expectDecision(base, 200);
      await expectDecision(base, 429);
    },
  };
}

async function expectDecision(base: string, status: number): Promise<void> {
  const response = await fetch(`${base}/json`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: REQUEST,
    signal: AbortSignal.timeout(5000),
  });
  const text = await response.text();
  if (response.status !== status) {
    throw new Error(
      `Cannot accept the decision: expected ${status}, got ` +
        `${response.status} "${text}"`,
    );
  }
}
