/**
 * A vault behind key servers in a folder of its own, for tests.
 *
 * @module
 */

import type { KeyServer } from "../../../../sdk/vault/key_server_client.ts";
import {
  messageSigner,
  SessionKey,
  writeSessionHeader,
} from "../../../../sdk/vault/session_key.ts";
import {
  type KeyQuestion,
  TestKeyServers,
} from "../../../../sdk/vault/testing/key_servers.ts";
import {
  addressOfPublicKey,
  signWithSeed,
} from "../../../../sdk/vault/signatures.ts";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { DirectKeyOpening } from "../key_opening.ts";
import type { OpenKeyRows } from "../key_rows.ts";
import { LocalVault } from "../local_vault.ts";
import { OwnerKeys } from "../owner_keys.ts";
import type { BlobContent, SealedBlob } from "../vault.ts";
import { ThresholdVault } from "../threshold_vault.ts";

const PACKAGE = `0x${"5a".repeat(32)}`;
const ACCOUNT = `0x${"ac".repeat(32)}`;

/** Options of {@linkcode ThresholdWorld.with}. */
interface WorldOptions {
  /** Most owners whose keys are kept opened. @default as in production */
  readonly maxOwners?: number | undefined;
  /** Opens the wrapped keys. @default the file `keys.db` */
  readonly openRows?: OpenKeyRows | undefined;
}

/** A vault and its parts. */
interface WorldVault {
  readonly vault: ThresholdVault;
  readonly keys: OwnerKeys;
  readonly local: LocalVault;
}

/** A vault, its key servers, and one delegate. */
export class ThresholdWorld {
  /** The clock of the vault and the key servers. */
  readonly clock = new FakeClock();
  /** The package that keys and sessions are for. */
  readonly packageId = PACKAGE;
  /** The vault's log. */
  readonly logger = new RecordingLogger();
  /** Four key servers, of which the vault uses the first three at first. */
  readonly servers: TestKeyServers;
  /** The key servers that the vault is set to use from the next start on. */
  keyServers: readonly KeyServer[];
  /** Addresses that the key servers give no keys to. */
  readonly removed = new Set<string>();
  /** How often a delegate lost access, as accounts tell it. */
  accessCounter = 0n;
  /** Whether the ledger does not answer, so that accounts cannot be read. */
  isLedgerAway = false;
  /** Called before an account is returned. */
  onAccount: () => Promise<unknown> = () => Promise.resolve();
  /** The requests for keys that the key servers received. */
  readonly questions: KeyQuestion[] = [];
  readonly #dataFolder: string;
  readonly #options: WorldOptions;
  readonly #others: WorldVault[] = [];
  #opened: WorldVault;

  private constructor(dataFolder: string, options: WorldOptions) {
    this.#dataFolder = dataFolder;
    this.#options = options;
    this.servers = new TestKeyServers({
      packageId: PACKAGE,
      count: 4,
      nowMs: () => this.clock.nowMs(),
      mayHave: (question) => {
        this.questions.push(question);
        return !this.removed.has(question.user);
      },
    });
    this.keyServers = this.servers.keyServers.slice(0, 3);
    this.#opened = this.#make();
  }

  /** Starts a world, runs `use`, stops the vault and removes the folder. */
  static async with(
    use: (world: ThresholdWorld) => Promise<void>,
    options: WorldOptions = {},
  ): Promise<void> {
    const folder = await Deno.makeTempDir({ prefix: "relayer_threshold_" });
    const world = new ThresholdWorld(folder, options);
    try {
      await world.vault.start();
      await use(world);
    } finally {
      for (const { vault } of world.#others) await vault.stop();
      await world.vault.stop();
      await Deno.remove(folder, { recursive: true });
    }
  }

  /** The vault. */
  get vault(): ThresholdVault {
    return this.#opened.vault;
  }

  /** The local vault inside the vault. */
  get localVault(): LocalVault {
    return this.#opened.local;
  }

  /** Its owners' keys. */
  get keys(): OwnerKeys {
    return this.#opened.keys;
  }

  /** How many requests arrived at the key servers. */
  get requests(): number {
    return this.servers.requests.reduce((sum, count) => sum + count, 0);
  }

  /** Seals a content into a blob that only key servers can open. */
  async seal(owner: string, content: BlobContent): Promise<SealedBlob> {
    const { bytes, keyId } = await this.vault.seal(owner, content);
    return { bytes: await this.vault.protect(owner, bytes), keyId };
  }

  /** Stops the vault and starts one in the same folder without opened keys. */
  async restart(): Promise<void> {
    await this.vault.stop();
    this.#opened = this.#make();
    await this.vault.start();
  }

  /** Starts the vault of another relayer, where several have the same rows. */
  async another(): Promise<WorldVault> {
    const other = this.#make();
    this.#others.push(other);
    await other.vault.start();
    return other;
  }

  /**
   * Makes a local vault for the same folder; the present one must be stopped.
   */
  local(): LocalVault {
    const { clock, logger } = this;
    return new LocalVault({
      ...{ dataFolder: this.#dataFolder, clock, logger },
      openRows: this.#options.openRows,
    });
  }

  /** A delegate's address and its session, as a header. */
  async session(
    { seed = 7, packageId = PACKAGE, ttlMin = 10 } = {},
  ): Promise<{ readonly address: string; readonly header: string }> {
    const secret = new Uint8Array(32).fill(seed);
    // A signature has its public key at the end.
    const signature = await signWithSeed(
      secret,
      new Uint8Array(),
      "personal message",
    );
    const address = addressOfPublicKey(
      Uint8Array.fromBase64(signature).subarray(-32),
    );
    const session = await SessionKey.create({
      address,
      packageId,
      ttlMin,
      nowMs: this.clock.nowMs(),
      signPersonalMessage: messageSigner(secret),
    });
    return { address, header: writeSessionHeader(session) };
  }

  /** Gives the vault a delegate's session for an owner; returns its address. */
  async signIn(owner: string, seed = 7): Promise<string> {
    const { address, header } = await this.session({ seed });
    const outcome = await this.keys.sessions.take(owner, header, {
      address,
    });
    if (outcome.kind !== "ok") throw new Error(outcome.reason);
    return address;
  }

  #make(): WorldVault {
    const { clock, logger } = this;
    const local = this.local();
    const keys = new OwnerKeys({
      packageId: PACKAGE,
      opening: new DirectKeyOpening({
        keyServers: this.keyServers,
        threshold: 2,
        fetch: this.servers.fetch,
      }),
      store: local.keys,
      keyServerIds: this.keyServers.map(({ objectId }) => objectId),
      threshold: 2,
      findAccount: async () => {
        await this.onAccount();
        return this.isLedgerAway ? { kind: "unavailable" } : {
          kind: "ok",
          account: {
            accountId: ACCOUNT,
            initialVersion: 1n,
            accessCounter: this.accessCounter,
          },
        };
      },
      clock,
      logger,
      maxOwners: this.#options.maxOwners,
    });
    return {
      vault: new ThresholdVault({ local, ownerKeys: keys }),
      keys,
      local,
    };
  }
}
