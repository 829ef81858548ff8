/**
 * The calls of the accounts' contract, each as one transaction that is built, signed,
 * sent and waited for.
 *
 * @module
 */

import { decodeHex, encodeHex } from "../memory/encodings.ts";
import { presentable } from "../memory/server_text.ts";
import { addressOfPublicKey, signWithSeed } from "../vault/signatures.ts";
import { deriveLocalAccountId } from "../manual/memory_identity.ts";
import { abortError, AccountError } from "./account_error.ts";
import type { AccountOptions } from "./account_options.ts";
import {
  checkOptions,
  type LedgerAccess,
  ledgerAccess,
  optionFault,
  packageMissing,
  readId,
} from "./ledger_access.ts";

type Transaction = import("@mysten/sui/transactions").Transaction;

/** Options of a function that changes an existing account. */
export interface AccountChangeOptions extends AccountOptions {
  /** The account's object id. */
  readonly accountId: string;
}

/** Options of {@linkcode addDelegateKey}: the account and the key to add. */
export interface AddDelegateKeyOptions extends AccountChangeOptions {
  /** The delegate's public key: 32 bytes or hexadecimal, with or without `0x`. */
  readonly publicKey: string | Uint8Array;
  /** A label for the key, chosen by the owner, at most 64 bytes of UTF-8. */
  readonly label: string;
}

/**
 * Options of {@linkcode removeDelegateKey}: the account and the key to remove.
 */
export interface RemoveDelegateKeyOptions extends AccountChangeOptions {
  /** The delegate's public key: 32 bytes or hexadecimal, with or without `0x`. */
  readonly publicKey: string | Uint8Array;
}

/** The result of a transaction that was executed. */
export interface TransactionResult {
  /** The transaction's digest, in base58. */
  readonly digest: string;
}

/** The result of creating an account. */
export interface CreateAccountResult extends TransactionResult {
  /** The object that the account is on the ledger. */
  readonly accountId: string;
  /** The owner's address. */
  readonly owner: string;
}

/** The result of adding a key. */
export interface AddDelegateKeyResult extends TransactionResult {
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** The key's address on the ledger. */
  readonly suiAddress: string;
}

const ACCOUNT_TYPE = "::account::MemWalAccount";
const ACCOUNT_MODULE = "account";
/**
 * Matches the package's text of an abort: the abort code and, where the package
 * knows them, the contract's package and module.
 */
const ABORT = /abort code: (\d{1,5})\b(?:, in '0x[0-9a-f]+::(\w+))?/;
const PUBLIC_KEY_BYTES = 32;
/**
 * Pause before the ledger is asked for a sent transaction again; it doubles
 * with each try, up to two seconds.
 */
const FIRST_LOOK_MS = 100;

/**
 * Creates the account of the signer's address. An address can have one account.
 *
 * @throws {TypeError} When an option is not valid.
 * @throws {AccountError} When the account is not created: `ACCOUNT_EXISTS` and
 * others.
 */
export async function createAccount(
  options: AccountOptions,
): Promise<CreateAccountResult> {
  const action = "create the account";
  const { digest, objectTypes, address, access } = await carryOut(options, {
    action,
    build: (tx, { target, registryId }) => {
      tx.moveCall({
        target: target("create_account"),
        arguments: [tx.object(registryId), tx.object.clock()],
      });
    },
  });
  const made = Object.entries(objectTypes).find(([, type]) =>
    type.endsWith(ACCOUNT_TYPE)
  );
  const fault = (state: string) =>
    new AccountError(
      `Cannot ${action}: the ledger names ${state} in transaction ${digest}`,
      { code: "LEDGER_FAILED" },
    );
  if (made === undefined) throw fault("no account");
  const [accountId, type] = made;
  if (access.isLocal) {
    // The ledger's answer is compared with what the id has to be, because
    // applications store the id and rely on it.
    const { packageId } = access;
    const isOwn = type === `${packageId}${ACCOUNT_TYPE}` &&
      accountId === await deriveLocalAccountId(packageId, address);
    if (!isOwn) throw fault("an account that is not the signer's");
  }
  return { accountId, owner: address, digest };
}

/**
 * Lets a key act for an account. Only the owner may do this.
 *
 * @throws {TypeError} When an option is not valid.
 * @throws {AccountError} When the key is not added: `TOO_MANY_DELEGATE_KEYS`,
 * `DELEGATE_KEY_EXISTS`, `LABEL_TOO_LONG`, `NOT_OWNER` and others.
 */
export async function addDelegateKey(
  options: AddDelegateKeyOptions,
): Promise<AddDelegateKeyResult> {
  const accountId = readId(checkOptions(options).accountId, "accountId");
  const publicKey = readPublicKey(options.publicKey);
  const { label } = options;
  if (typeof label !== "string") throw optionFault("label is not text");
  const { digest } = await carryOut(options, {
    action: "add the delegate key",
    build: (tx, { target, registryId }) => {
      tx.moveCall({
        target: target("add_delegate_key"),
        arguments: [
          tx.object(accountId),
          tx.object(registryId),
          tx.pure.vector("u8", publicKey),
          tx.pure.string(label),
          tx.object.clock(),
        ],
      });
    },
  });
  return {
    digest,
    publicKey: encodeHex(publicKey),
    suiAddress: addressOfPublicKey(publicKey),
  };
}

/**
 * Removes a key, so that it can no longer act for the account. Only the owner
 * may do this.
 *
 * @throws {TypeError} When an option is not valid.
 * @throws {AccountError} When the key is not removed: `DELEGATE_KEY_MISSING`,
 * `NOT_OWNER` and others.
 */
export async function removeDelegateKey(
  options: RemoveDelegateKeyOptions,
): Promise<TransactionResult> {
  const accountId = readId(checkOptions(options).accountId, "accountId");
  const publicKey = readPublicKey(options.publicKey);
  const { digest } = await carryOut(options, {
    action: "remove the delegate key",
    build: (tx, { target, registryId }) => {
      tx.moveCall({
        target: target("remove_delegate_key"),
        arguments: [
          tx.object(accountId),
          tx.object(registryId),
          tx.pure.vector("u8", publicKey),
        ],
      });
    },
  });
  return { digest };
}

/**
 * Deactivates an account: none of its keys can be used until the account is
 * reactivated. Only the owner may do this.
 *
 * @throws {TypeError} When an option is not valid.
 * @throws {AccountError} When the account is not deactivated:
 * `ACCOUNT_DEACTIVATED` when it already was, `NOT_OWNER` and others.
 */
export function deactivateAccount(
  options: AccountChangeOptions,
): Promise<TransactionResult> {
  return switchAccount(options, "deactivate_account");
}

/**
 * Activates a deactivated account again. Only the owner may do this.
 *
 * @throws {TypeError} When an option is not valid.
 * @throws {AccountError} When the account is not activated: `ACCOUNT_ACTIVE`
 * when it already was, `NOT_OWNER` and others.
 */
export function reactivateAccount(
  options: AccountChangeOptions,
): Promise<TransactionResult> {
  return switchAccount(options, "reactivate_account");
}

async function switchAccount(
  options: AccountChangeOptions,
  name: "deactivate_account" | "reactivate_account",
): Promise<TransactionResult> {
  const accountId = readId(checkOptions(options).accountId, "accountId");
  const { digest } = await carryOut(options, {
    action: name.replace("_", " the "),
    build: (tx, { target, registryId }) => {
      tx.moveCall({
        target: target(name),
        arguments: [tx.object(accountId), tx.object(registryId)],
      });
    },
  });
  return { digest };
}

/** What the call of a contract function is built from. */
interface CallParts {
  readonly target: (name: string) => string;
  readonly registryId: string;
}

/** A transaction that was executed, and the types of the objects it changed. */
interface Done {
  readonly digest: string;
  readonly objectTypes: Readonly<Record<string, string>>;
  readonly address: string;
  readonly access: LedgerAccess;
}

async function carryOut(options: AccountOptions, { action, build }: {
  readonly action: string;
  readonly build: (tx: Transaction, parts: CallParts) => void;
}): Promise<Done> {
  const { Transaction } = await import("@mysten/sui/transactions")
    .catch(packageMissing);
  const access = await ledgerAccess(options);
  const { signer, address, packageId, registryId } = access;
  try {
    const transaction = new Transaction();
    transaction.setSender(address);
    const target = (name: string) => `${packageId}::account::${name}`;
    build(transaction, { target, registryId });
    const digest = await send(transaction, access);
    const seen = await carriedOut(digest, access).catch((cause: unknown) => {
      throw new AccountError(
        `Cannot tell what became of transaction ${digest}: it was sent, and the ` +
          "ledger does not show it; look for it before you try again",
        { code: "LEDGER_FAILED", cause },
      );
    });
    const done = seen.Transaction ?? seen.FailedTransaction;
    if (!done.status.success) throw new FailedCall(done.status.error);
    return { digest, objectTypes: done.objectTypes, address, access };
  } catch (cause) {
    throw namedError(action, cause);
  } finally {
    if (signer.kind === "seed") signer.seed.fill(0);
  }
}

/**
 * Waits until the ledger shows a transaction. The waiting function of
 * `@mysten/sui` is not used, because it leaves a timer that keeps a script
 * alive until the timeout.
 */
async function carriedOut(digest: string, { client, timeoutMs }: LedgerAccess) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  try {
    for (let waitMs = FIRST_LOOK_MS;; waitMs = Math.min(2 * waitMs, 2_000)) {
      try {
        return await client.core.getTransaction({
          digest,
          include: { effects: true, objectTypes: true },
          signal: limit.signal,
        });
      } catch (cause) {
        // The transaction is not on the ledger yet, or the ledger cannot be
        // reached at the moment: try again until the timeout.
        if (limit.signal.aborted) throw cause;
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Signs and sends a transaction; returns its digest. */
async function send(
  transaction: Transaction,
  { client, signer }: LedgerAccess,
): Promise<string> {
  // A wallet builds the transaction again by itself. Building it here as well
  // makes a trial run, which shows whether the contract refuses before the user
  // is asked to sign.
  const bytes = await transaction.build({ client });
  if (signer.kind === "wallet") {
    return (await signer.wallet.signAndExecuteTransaction({ transaction }))
      .digest;
  }
  const signature = await signWithSeed(signer.seed, bytes, "transaction");
  const sent = await client.core.executeTransaction({
    transaction: bytes,
    signatures: [signature],
  });
  return (sent.Transaction ?? sent.FailedTransaction).digest;
}

/** A transaction that was executed and failed. */
class FailedCall extends Error {
  /** The error as the ledger reports it. */
  readonly executionError: unknown;

  constructor(executionError: { readonly message: string }) {
    super(executionError.message);
    this.executionError = executionError;
  }
}

function namedError(action: string, cause: unknown): AccountError {
  if (cause instanceof AccountError) return cause;
  const abortCode = findAbortCode(cause);
  if (abortCode !== undefined) return abortError(action, { abortCode, cause });
  const said = cause instanceof Error ? cause.message : String(cause);
  return new AccountError(
    `Cannot ${action}: the ledger or the wallet failed: ${presentable(said)}`,
    { code: "LEDGER_FAILED", cause },
  );
}

/**
 * Returns the contract's abort code from the error of a trial run or of the
 * ledger; undefined when another module has aborted, such as that of coins.
 */
function findAbortCode(cause: unknown): number | undefined {
  if (!(cause instanceof Error)) return undefined;
  const executionError = "executionError" in cause
    ? cause.executionError
    : undefined;
  if (
    typeof executionError === "object" && executionError !== null &&
    "MoveAbort" in executionError
  ) {
    const { MoveAbort: abort } = executionError;
    if (typeof abort === "object" && abort !== null && "abortCode" in abort) {
      const location = "location" in abort ? abort.location : undefined;
      const { module = ACCOUNT_MODULE } = Object(location);
      return module === ACCOUNT_MODULE ? Number(abort.abortCode) : undefined;
    }
  }
  const said = ABORT.exec(cause.message);
  const [, digits, module = ACCOUNT_MODULE] = said ?? [];
  return digits === undefined || module !== ACCOUNT_MODULE
    ? undefined
    : Number(digits);
}

function readPublicKey(value: string | Uint8Array): Uint8Array {
  const bytes = typeof value === "string"
    ? decodeHex(value.trim().replace(/^0x/i, ""))
    : value instanceof Uint8Array
    ? Uint8Array.from(value)
    : undefined;
  if (bytes?.length === PUBLIC_KEY_BYTES) return bytes;
  throw optionFault("publicKey is neither 32 bytes nor 64 hexadecimal digits");
}
