/**
 * The smoke test of a key server: it tells what it is, proves that it has its
 * secret, and refuses a request without a certificate.
 *
 * @module
 */

import { makeSecret } from "../../services/keyserver/secret_file.ts";
import { createLogger } from "../../services/shared/logger.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { tell } from "../terminal.ts";
import { freePorts, type SmokeService } from "./smoke.ts";

/** Describes a key server with a new secret in `folder`. */
export async function keyServerSmoke(folder: string): Promise<SmokeService> {
  const [port, metricsPort] = freePorts(2);
  const base = `http://127.0.0.1:${port}`;
  const { objectId } = await makeSecret({
    dataDir: folder,
    masterKeys: "",
    logger: createLogger({
      format: "text",
      level: "warning",
      clock: systemClock,
      write: tell,
    }),
  });
  return {
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: folder,
    },
    healthUrl: `${base}/health`,
    exercise: () => exercise(base, objectId),
  };
}

async function exercise(base: string, objectId: string): Promise<void> {
  const signal = AbortSignal.timeout(10_000);
  const url = `${base}/v1/service?service_id=${objectId}`;
  const service: unknown = await (await fetch(url, { signal })).json();
  if (Reflect.get(Object(service), "service_id") !== objectId) {
    throw new Error(`Cannot accept the service: ${JSON.stringify(service)}`);
  }
  const refused = await fetch(`${base}/v1/fetch_key`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
    signal,
  });
  await refused.body?.cancel();
  if (refused.status !== 400) {
    throw new Error(
      `Cannot accept an empty request: expected 400, got ${refused.status}`,
    );
  }
}
