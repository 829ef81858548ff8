/**
 * The smoke test of the relayer: it tells what it is, and refuses a request
 * without a key. Remembering is not tried, as it needs an account, which a
 * command of the same executable creates; the tests of the project cover it.
 *
 * @module
 */

import { freePorts, type SmokeService } from "./smoke.ts";

/** Describes the relayer with its data in `folder`. */
export function relayerSmoke(folder: string): SmokeService {
  const [port, metricsPort] = freePorts(2);
  const base = `http://127.0.0.1:${port}`;
  return {
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: folder,
      // `deno task dev` has variables of its own for each service, as it runs
      // several.
      RELAYER_PORT: String(port),
      RELAYER_METRICS_PORT: String(metricsPort),
      RELAYER_DATA_DIR: folder,
    },
    healthUrl: `${base}/health`,
    exercise: () => exercise(base, `http://127.0.0.1:${metricsPort}/metrics`),
  };
}

async function exercise(base: string, metricsUrl: string): Promise<void> {
  const signal = AbortSignal.timeout(10_000);
  const version: unknown = await (await fetch(`${base}/version`, { signal }))
    .json();
  const api: unknown = Reflect.get(Object(version), "apiVersion");
  if (api !== "1.0.0") {
    throw new Error(`Cannot accept the version: ${JSON.stringify(version)}`);
  }
  const refused = await fetch(`${base}/api/recall`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "anything" }),
    signal,
  });
  await refused.body?.cancel();
  if (refused.status !== 401) {
    throw new Error(
      `Cannot accept an unsigned recall: expected 401, got ${refused.status}`,
    );
  }
  const metrics = await (await fetch(metricsUrl, { signal })).text();
  if (!metrics.includes('route="POST /api/recall",status="401"')) {
    throw new Error(`Cannot accept the metrics: ${metrics}`);
  }
}
