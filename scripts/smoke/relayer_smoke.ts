/**
 * The relayer in a smoke test: it says what it is, and refuses those who have no
 * key. Remembering needs an account, which is made by a command of the same
 * executable; the tests of the project do that.
 *
 * @module
 */

import { freePorts, type SmokeService } from "./smoke.ts";

/** The relayer with its data in `folder`. */
export function relayerSmoke(folder: string): SmokeService {
  const [port, metricsPort] = freePorts(2);
  const base = `http://127.0.0.1:${port}`;
  return {
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: folder,
      // `deno task dev` takes its own names, for it runs more than one service.
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
