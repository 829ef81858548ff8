/**
 * Starts the relayer for a round trip of the SDK, and checks the report, which
 * has to be the same in every runtime.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { generateDelegateKey } from "../../sdk/account.ts";
import {
  createAccount,
  type RelayerAccount,
  startRelayer,
} from "../support/relayer_process.ts";
import type { RoundTripOptions } from "./round_trip.ts";

/** A running relayer with an account. */
export interface TriedRelayer extends AsyncDisposable {
  /** The options for a round trip with this relayer. */
  readonly options: RoundTripOptions;
  /** The account of the relayer. */
  readonly account: RelayerAccount;
}

/** Starts the real relayer with an account and, if given, settings. */
export async function startTriedRelayer(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TriedRelayer> {
  const account = await createAccount({ dataDir, env });
  const { privateKey: strangerKey } = await generateDelegateKey();
  const relayer = await startRelayer({ dataDir, env });
  return {
    account,
    options: {
      serverUrl: relayer.url,
      key: account.key,
      accountId: account.accountId,
      strangerKey,
    },
    [Symbol.asyncDispose]: () => relayer[Symbol.asyncDispose](),
  };
}

/** Checks the report of a round trip. */
export function checkRoundTrip(
  report: unknown,
  { publicKey }: RelayerAccount,
): void {
  const others = ["Grace drinks coffee", "Zoë isst Brötchen 🥐 zum Frühstück"];
  assertEquals(report, {
    health: "ok",
    publicKey,
    isSameJob: true,
    found: ["Ada drinks tea"],
    filtered: ["Ada drinks tea"],
    bulk: 2,
    listed: 3,
    left: others,
    refusal: [401, "ERR_KEY_NOT_DELEGATE"],
    appearance: ["{}", "[object Object]", "{}", ""],
    destroyed: Array(4).fill("MemDestroyedError"),
  });
}
