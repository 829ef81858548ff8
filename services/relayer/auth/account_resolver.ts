/**
 * Finds the account that a key speaks for.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { BoundedMap } from "../../shared/bounded_map.ts";
import { describeError, settle } from "../../shared/settled.ts";
import type { AccountOutcome, Ledger } from "../ledger/ledger.ts";
import type { Caller } from "./caller.ts";
import { type Refusal, refusal } from "./refusal.ts";

/** What finding an account comes to. */
export type ResolveOutcome =
  | { readonly kind: "ok"; readonly caller: Caller }
  | Refusal;

/** Options of {@linkcode AccountResolver}. */
export interface AccountResolverOptions {
  /** Has the accounts. */
  readonly ledger: Ledger;
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * The account of keys that name none.
   *
   * @default the one the ledger finds by the key
   */
  readonly fixedAccountId?: string;
  /**
   * Most keys whose account is remembered.
   *
   * @default {100000}
   */
  readonly maxKeys?: number;
  /**
   * Milliseconds that a key's account is remembered.
   *
   * @default {86400000}
   */
  readonly rememberMs?: number;
}

interface Remembered {
  readonly accountId: string;
  readonly untilMs: number;
}

/**
 * Finds accounts and checks that the key may speak for them. Which account a key
 * named last is remembered; whether it still may is asked of the ledger each
 * time, so a key is out with the request after it was removed.
 */
export class AccountResolver {
  readonly #options: AccountResolverOptions;
  readonly #rememberMs: number;
  readonly #accounts: BoundedMap<string, Remembered>;

  /** Remembers nothing yet. */
  constructor(options: AccountResolverOptions) {
    this.#options = options;
    this.#rememberMs = options.rememberMs ?? 86_400_000;
    this.#accounts = new BoundedMap({ maxEntries: options.maxKeys ?? 100_000 });
  }

  /**
   * The caller with a key whose signature was checked, and the account that the
   * signed request names.
   */
  async resolve(
    publicKey: string,
    accountId: string | undefined,
  ): Promise<ResolveOutcome> {
    const { ledger } = this.#options;
    if (accountId !== undefined) return await this.#check(publicKey, accountId);
    let first: Refusal | undefined;
    for (const id of this.#likelyAccounts(publicKey)) {
      const outcome = await this.#check(publicKey, id);
      if (outcome.kind === "ok" || outcome.status === 503) return outcome;
      first ??= outcome.code === "ERR_ACCOUNT_UNKNOWN" ? undefined : outcome;
    }
    const read = await ask(() => ledger.accountOfKey(publicKey));
    const outcome = this.#judge(publicKey, read);
    return outcome.kind === "ok" ||
        outcome.code !== "ERR_ACCOUNT_UNKNOWN"
      ? outcome
      : first ?? outcome;
  }

  #likelyAccounts(publicKey: string): readonly string[] {
    const { clock, fixedAccountId } = this.#options;
    const known = this.#accounts.get(publicKey);
    const ids = new Set<string>();
    if (known !== undefined && clock.nowMs() < known.untilMs) {
      ids.add(known.accountId);
    }
    if (fixedAccountId !== undefined) ids.add(fixedAccountId);
    return [...ids];
  }

  async #check(publicKey: string, accountId: string): Promise<ResolveOutcome> {
    const { ledger } = this.#options;
    const outcome = this.#judge(
      publicKey,
      await ask(() => ledger.account(accountId)),
    );
    const known = this.#accounts.get(publicKey);
    if (
      outcome.kind === "refused" && outcome.status === 401 &&
      known?.accountId === accountId
    ) {
      this.#accounts.delete(publicKey);
    }
    return outcome;
  }

  #judge(publicKey: string, read: AccountOutcome): ResolveOutcome {
    if (read.kind === "unavailable") {
      return refusal("AUTH_UPSTREAM_UNAVAILABLE", read.reason);
    }
    if (read.kind === "missing") return refusal("ERR_ACCOUNT_UNKNOWN");
    const { accountId, owner, isActive, delegateKeys } = read.account;
    // Before anything else is said of the account: whose key it is not is not
    // told how it stands with it.
    if (!delegateKeys.some((key) => key.publicKey === publicKey)) {
      return refusal("ERR_KEY_NOT_DELEGATE");
    }
    if (!isActive) return refusal("ERR_ACCOUNT_INACTIVE");
    const untilMs = this.#options.clock.nowMs() + this.#rememberMs;
    this.#accounts.set(publicKey, { accountId, untilMs });
    return { kind: "ok", caller: { accountId, owner, publicKey } };
  }
}

/** A ledger that fails is one that does not answer. */
async function ask(
  read: () => Promise<AccountOutcome>,
): Promise<AccountOutcome> {
  const settled = await settle(read);
  return settled.kind === "ok"
    ? settled.value
    : { kind: "unavailable", reason: describeError(settled.error) };
}
