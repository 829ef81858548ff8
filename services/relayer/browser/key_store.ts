/**
 * Keeps a delegate's key in the browser as a key of WebCrypto: it signs, and
 * no page can read it, those of this origin included.
 *
 * @module
 */

/** A key that the browser keeps. */
export interface KeptKey {
  /** The account that it acts for. */
  readonly accountId: string;
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** The private key, which cannot be exported. */
  readonly signingKey: CryptoKey;
}

const DATABASE = "tercet-relayer";
const STORE = "keys";
const ONLY = "delegate";

/** Keeps a key in place of the one before. */
export async function keepKey(key: KeptKey): Promise<void> {
  await inStore("readwrite", (store) => store.put(key, ONLY));
}

/** The key that is kept, if any. */
export async function keptKey(): Promise<KeptKey | undefined> {
  return await inStore("readonly", (store) => store.get(ONLY));
}

/** Keeps no key any longer. */
export async function dropKey(): Promise<void> {
  await inStore("readwrite", (store) => store.delete(ONLY));
}

async function inStore<T>(
  mode: IDBTransactionMode,
  use: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await ended(opening);
  try {
    const transaction = database.transaction(STORE, mode);
    const result = await ended(use(transaction.objectStore(STORE)));
    return result;
  } finally {
    database.close();
  }
}

function ended<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
