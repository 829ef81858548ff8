/**
 * Three key servers for development, of which two have to answer. In production
 * each of them is on a machine of its own, run by a different person.
 *
 * @module
 */

import {
  makeSecret,
  openSecret,
  type ServerKeys,
} from "../../services/keyserver/secret_file.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { createLogger } from "../../services/shared/logger.ts";
import { tell } from "../terminal.ts";
import { type DevService, storingService } from "./dev_service.ts";

const COUNT = 3;
const FIRST_PORT = 8_100;
const FIRST_METRICS_PORT = 9_093;

/**
 * The key servers; the variables of the first begin with KEYSERVER_1_, and so
 * on.
 */
export const KEY_SERVERS: readonly DevService[] = Array.from(
  { length: COUNT },
  (_, at) =>
    storingService({
      name: "keyserver",
      label: `keyserver ${at + 1}`,
      port: FIRST_PORT + at,
      metricsPort: FIRST_METRICS_PORT + at,
      readyPath: "/health",
      settings: (read) => ({
        HOST: "127.0.0.1",
        LEDGER_RPC_URL: `http://127.0.0.1:${read("RELAYER_PORT") || 8_000}/rpc`,
      }),
      announcement: (env) =>
        at + 1 < COUNT ? "" : `
key servers are ready: ${COUNT}; two of them together open what the relayer alone can't

  data    ${env["DATA_DIR"]}, and the folders of the others beside it
`,
    }),
);

/**
 * Returns the addresses and public keys of the key servers, as the relayer's
 * setting KEY_SERVERS takes them.
 */
export async function devKeyServers(
  read: (name: string) => string | undefined,
): Promise<string> {
  const told: string[] = [];
  for (const server of KEY_SERVERS) {
    const { PORT, DATA_DIR = "" } = await server.environment(read);
    const { publicKey } = await devKeys(DATA_DIR);
    told.push(`http://127.0.0.1:${PORT}=${publicKey.toHex()}`);
  }
  return told.join(",");
}

/** Reads the keys in a data folder; creates them when there are none. */
export async function devKeys(dataDir: string): Promise<ServerKeys> {
  const place = {
    dataDir,
    masterKeys: "",
    logger: createLogger({
      format: "text",
      level: "warning",
      clock: systemClock,
      write: tell,
    }),
  };
  const isThere = await Deno.stat(`${dataDir}/secret.json`).then(
    () => true,
    (error) => {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    },
  );
  return isThere ? await openSecret(place) : await makeSecret(place);
}
