/**
 * The file that keeps the key server's master secret, sealed by AES-256-GCM
 * under a master key. When a new master key is put before the old one, the next
 * start seals the secret again under the new one.
 *
 * @module
 */

import { openDataFolder } from "../shared/data_folder.ts";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import {
  deriveKeyServerId,
  derivePublicKey,
  newMasterSecret,
} from "../../sdk/vault/identity_encryption.ts";
import { syncFolder, writeDurableFile } from "../shared/data_file.ts";
import type { Logger } from "../shared/logger.ts";
import {
  findMasterKey,
  type MasterKey,
  parseMasterKeys,
  readMasterKeyFile,
} from "../shared/master_keys.ts";
import { isJsonObject } from "../shared/schema/schema.ts";
import { type FolderLock, lockFolder } from "../shared/sqlite/folder_lock.ts";

/** A key server's keys. */
export interface ServerKeys {
  /**
   * The master secret, from which the key of every identity is derived; 32
   * bytes.
   */
  readonly secret: Uint8Array;
  /** The public key that clients encrypt for, 96 bytes. */
  readonly publicKey: Uint8Array;
  /**
   * The id of the key server's object on an embedded ledger; it follows from
   * the public key.
   */
  readonly objectId: string;
}

/** Where the secret is kept, and the keys that seal it. */
export interface SecretPlace {
  /** The folder. */
  readonly dataDir: string;
  /**
   * The MASTER_KEYS setting; when empty, the data folder's own master key file
   * is used.
   */
  readonly masterKeys: string;
  /** Logs that a master key file was made or the secret was sealed again. */
  readonly logger: Logger;
}

const FILE = "secret.json";
/**
 * The version of the file's format. Files of version 1 lack the public key;
 * they are rewritten when they are opened.
 */
const VERSION = 2;
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CONTEXT = new TextEncoder().encode("tercet key server secret 1");
const ABOUT_MASTER_KEY =
  "The key that seals the secret of this key server. Keep a copy of both, apart\n" +
  "from each other: without them what owners have encrypted is lost.";

/** What becomes of a secret that is there already. */
interface MakeOptions {
  /**
   * Whether it is opened, in place of an error.
   *
   * @default {false}
   */
  readonly ifMissing?: boolean;
}

/**
 * Makes the master secret and writes its file.
 *
 * @throws {Error} When there is a secret already, unless the options say
 * otherwise: it is never replaced.
 */
export async function makeSecret(
  place: SecretPlace,
  options: MakeOptions = {},
): Promise<ServerKeys> {
  await openDataFolder(place.dataDir, { service: "keyserver" });
  const lock = lockKeyServer(place.dataDir);
  try {
    return await makeLocked(place, options);
  } finally {
    lock.release();
  }
}

/**
 * Locks the folder for this process: two processes would overwrite each other's
 * record of what was seen of accounts.
 *
 * @throws {Error} When another process holds the lock.
 */
export function lockKeyServer(dataDir: string): FolderLock {
  return lockFolder(dataDir, "keyserver.lock");
}

async function makeLocked(
  place: SecretPlace,
  { ifMissing = false }: MakeOptions,
): Promise<ServerKeys> {
  const path = toPath(place);
  if (await readIfThere(path) !== undefined) {
    if (ifMissing) return await openSecret(place);
    throw new Error(
      `Cannot make a secret: "${path}" holds one, and what was encrypted for it ` +
        "would be lost; for another one take another folder",
    );
  }
  const [master] = await loadMasterKeys(place, true);
  const keys = createKeys(newMasterSecret());
  await writeSealed(place, { keys, master });
  return keys;
}

/**
 * Opens the master secret, and seals it again when the first master key is a
 * new one.
 *
 * @throws {Error} When there is no secret, or no master key opens it.
 */
export async function openSecret(place: SecretPlace): Promise<ServerKeys> {
  const path = toPath(place);
  const text = await readIfThere(path);
  if (text === undefined) {
    throw new Error(
      `Cannot open the secret: there is no "${path}"; "keyserver key new" ` +
        "makes one",
    );
  }
  const sealed = readSealed(text);
  if (sealed === undefined) {
    throw new Error(
      `Cannot open the secret: "${path}" is damaged, or of a later program; ` +
        "restore it from its copy",
    );
  }
  const masters = await loadMasterKeys(place, false);
  const master = findMasterKey(masters, sealed.masterKey);
  const secret = master === undefined ? undefined : unsealed(sealed, master);
  if (secret === undefined) {
    throw new Error(
      `Cannot open the secret: "${path}" was sealed with the master key ` +
        `"${sealed.masterKey}", which is not among those that were given`,
    );
  }
  const keys = createKeys(secret, sealed.publicKey);
  const [current] = masters;
  if (master !== current || sealed.publicKey === undefined) {
    await writeSealed(place, { keys, master: current });
  }
  if (master !== current) {
    place.logger.info("sealed the secret under the new master key", {
      masterKey: current.id,
    });
  }
  return keys;
}

type MasterKeyRing = readonly [MasterKey, ...MasterKey[]];

async function loadMasterKeys(
  { dataDir, masterKeys, logger }: SecretPlace,
  mayCreate: boolean,
): Promise<MasterKeyRing> {
  if (masterKeys === "") {
    const [first, ...others] = await readMasterKeyFile(dataDir, {
      mayCreate,
      about: ABOUT_MASTER_KEY,
      logger,
    });
    if (first !== undefined) return [first, ...others];
  }
  const outcome = parseMasterKeys(masterKeys);
  if (outcome.kind === "ok") return outcome.keys;
  throw new Error(`${outcome.reason} (MASTER_KEYS)`);
}

/**
 * Makes the keys of a secret. The public key takes 50 ms to compute, so callers
 * pass it where it is known.
 */
function createKeys(
  secret: Uint8Array,
  publicKey: Uint8Array = derivePublicKey(secret),
): ServerKeys {
  return { secret, publicKey, objectId: deriveKeyServerId(publicKey) };
}

async function writeSealed(
  place: SecretPlace,
  { keys, master }: {
    readonly keys: ServerKeys;
    readonly master: MasterKey;
  },
): Promise<void> {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, master.secret, nonce);
  cipher.setAAD(buildContext(keys.publicKey));
  const bytes = Uint8Array.of(
    ...nonce,
    ...cipher.update(keys.secret),
    ...cipher.final(),
    ...cipher.getAuthTag(),
  );
  const json = {
    version: VERSION,
    masterKey: master.id,
    publicKey: keys.publicKey.toHex(),
    sealed: bytes.toBase64(),
  };
  const path = toPath(place);
  const text = `${JSON.stringify(json, undefined, 2)}\n`;
  // Written beside the file and renamed: a crash leaves either the old file or
  // the new one.
  await writeDurableFile(`${path}.new`, new TextEncoder().encode(text));
  await Deno.rename(`${path}.new`, path);
  await syncFolder(place.dataDir);
}

interface Sealed {
  readonly masterKey: string;
  readonly publicKey: Uint8Array | undefined;
  readonly bytes: Uint8Array;
}

function readSealed(text: string): Sealed | undefined {
  try {
    const json: unknown = JSON.parse(text);
    if (!isJsonObject(json)) return undefined;
    const { version, masterKey, publicKey, sealed } = json;
    if (typeof masterKey !== "string" || typeof sealed !== "string") {
      return undefined;
    }
    const bytes = Uint8Array.fromBase64(sealed);
    if (version === 1) return { masterKey, publicKey: undefined, bytes };
    return version === VERSION && typeof publicKey === "string"
      ? { masterKey, publicKey: Uint8Array.fromHex(publicKey), bytes }
      : undefined;
  } catch {
    // The file is not JSON, Base64 or hexadecimal digits: damaged in any case.
    return undefined;
  }
}

/**
 * Returns the data that the seal authenticates beside the secret: it binds the
 * public key to the secret.
 */
function buildContext(publicKey: Uint8Array | undefined): Uint8Array {
  return publicKey === undefined
    ? CONTEXT
    : Uint8Array.of(...CONTEXT, ...publicKey);
}

function unsealed(
  { bytes, publicKey }: Sealed,
  { secret }: MasterKey,
): Uint8Array | undefined {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const tagAt = bytes.length - TAG_BYTES;
  const decipher = createDecipheriv(
    CIPHER,
    secret,
    bytes.subarray(0, NONCE_BYTES),
    { authTagLength: TAG_BYTES },
  );
  decipher.setAAD(buildContext(publicKey));
  decipher.setAuthTag(bytes.subarray(tagAt));
  const opened = decipher.update(bytes.subarray(NONCE_BYTES, tagAt));
  try {
    decipher.final();
    return new Uint8Array(opened);
  } catch {
    // The tag does not match: another key, or a changed file.
    return undefined;
  }
}

function toPath({ dataDir }: SecretPlace): string {
  return `${dataDir}/${FILE}`;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Cannot read the secret "${path}": ${reason}; give it to the user that ` +
        "the key server runs as",
      { cause: error },
    );
  }
}
