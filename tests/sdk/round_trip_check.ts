/**
 * What a round trip must come to, in every runtime.
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

/** A relayer with an account, and its end. */
export interface TriedRelayer extends AsyncDisposable {
  /** What a round trip is made with. */
  readonly options: RoundTripOptions;
  /** The account. */
  readonly account: RelayerAccount;
}

/** Starts the real relayer with an account, and with settings if there are some. */
export async function startTriedRelayer(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TriedRelayer> {
  const account = await createAccount(dataDir);
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

/** Checks what a round trip came to. */
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
