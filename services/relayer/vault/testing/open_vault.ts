/**
 * Vaults in folders of their own, for tests.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { LocalVault } from "../local_vault.ts";
import type { BlobContent, RelayerVault } from "../vault.ts";

type LocalVaultOptions = ConstructorParameters<typeof LocalVault>[0];

/** A vault that has been started, and where it is. */
export interface VaultSubject {
  /** The vault. */
  readonly vault: RelayerVault;
  /** Its folder. */
  readonly dataFolder: string;
  /** Its log. */
  readonly logger: RecordingLogger;
  /** Stops the vault, and starts one with other options in the same folder. */
  reopen(options?: Partial<LocalVaultOptions>): Promise<RelayerVault>;
}

/** Opens a vault in a folder of its own, runs `use` and removes the folder. */
export async function withVault(
  use: (vault: RelayerVault, subject: VaultSubject) => Promise<void>,
  options: Partial<LocalVaultOptions> = {},
): Promise<void> {
  const dataFolder = await Deno.makeTempDir({ prefix: "relayer_vault_" });
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  let current: RelayerVault | undefined;
  const reopen = async (
    changed: Partial<LocalVaultOptions> = {},
  ): Promise<RelayerVault> => {
    await current?.stop();
    current = new LocalVault({ dataFolder, clock, logger, ...changed });
    await current.start();
    return current;
  };
  try {
    const vault = await reopen(options);
    await use(vault, { vault, dataFolder, logger, reopen });
  } finally {
    await current?.stop();
    await Deno.remove(dataFolder, { recursive: true });
  }
}

/** A sample content for sealing. */
export function sampleContent(content: Partial<BlobContent> = {}): BlobContent {
  return {
    id: "memory-1",
    namespace: "default",
    text: "The harbour master prefers peppermint tea",
    createdAtMs: 1_800_000_000_000,
    agentId: "c3".repeat(32),
    importance: 0.5,
    metadata: { source: "interview", page: 7, isDraft: false },
    ...content,
  };
}
