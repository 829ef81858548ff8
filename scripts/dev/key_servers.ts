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
import { type DevService, withDefaults } from "./dev_service.ts";

type Read = (name: string) => string | undefined;
type Environment = Readonly<Record<string, string>>;

const COUNT = 3;
const FIRST_PORT = 8_100;
const FIRST_METRICS_PORT = 9_093;

/**
 * The key servers; the variables of the first begin with KEYSERVER_1_, and so
 * on.
 */
export const KEY_SERVERS: readonly DevService[] = Array.from(
  { length: COUNT },
  (_, at) => keyServer(at + 1),
);

/**
 * Returns the addresses and public keys of the key servers, as the relayer's
 * setting KEY_SERVERS takes them.
 */
export async function devKeyServers(read: Read): Promise<string> {
  const told: string[] = [];
  for (let number = 1; number <= COUNT; number++) {
    const env = environmentOf(number, read);
    const { publicKey } = await keysOf(env.DATA_DIR ?? "");
    told.push(`http://127.0.0.1:${env.PORT}=${publicKey.toHex()}`);
  }
  return told.join(",");
}

function keyServer(number: number): DevService {
  const prefix = `KEYSERVER_${number}`;
  return {
    name: "keyserver",
    label: `keyserver ${number}`,
    listeners: [
      {
        hostVariable: "HOST",
        portVariable: `${prefix}_PORT`,
      },
      {
        what: "metrics",
        hostVariable: "METRICS_HOST",
        portVariable: `${prefix}_METRICS_PORT`,
      },
    ],
    dataFolder: {
      variable: `${prefix}_DATA_DIR`,
      path: `.tercet/keyserver-${number}`,
    },
    environment: (read) => environmentOf(number, read),
    readyUrl: (env) => `http://127.0.0.1:${env.PORT}/health`,
    announcement: (env) =>
      number < COUNT ? "" : `
key servers are ready: ${COUNT}; two of them together open what the relayer alone can't

  data    ${env.DATA_DIR}, and the folders of the others beside it
`,
  };
}

function environmentOf(number: number, read: Read): Environment {
  const prefix = `KEYSERVER_${number}`;
  const own = withDefaults({
    [`${prefix}_PORT`]: String(FIRST_PORT + number - 1),
    [`${prefix}_METRICS_PORT`]: String(FIRST_METRICS_PORT + number - 1),
    [`${prefix}_DATA_DIR`]: `.tercet/keyserver-${number}`,
  }, read);
  return {
    ...own,
    HOST: "127.0.0.1",
    PORT: own[`${prefix}_PORT`] ?? "",
    METRICS_HOST: read("METRICS_HOST") || "127.0.0.1",
    METRICS_PORT: own[`${prefix}_METRICS_PORT`] ?? "",
    DATA_DIR: own[`${prefix}_DATA_DIR`] ?? "",
    LEDGER_RPC_URL: `http://127.0.0.1:${read("RELAYER_PORT") || 8_000}/rpc`,
    LOG_LEVEL: read("LOG_LEVEL") || "info",
  };
}

/** Reads the keys in a data folder; creates them when there are none. */
async function keysOf(dataDir: string): Promise<ServerKeys> {
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
