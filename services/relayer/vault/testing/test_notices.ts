/**
 * Carries notices of keys between the relayers of a test.
 *
 * @module
 */

import type { KeyNotice, KeyNotices } from "../key_rows.ts";

/** Carries notices at once, or loses them. */
export class TestNotices {
  /** Whether notices are lost from now on. */
  areLost = false;
  readonly #hearers = new Set<(notice: KeyNotice) => void>();

  /** The end of another relayer, which hears all others. */
  connect(): KeyNotices {
    let own: ((notice: KeyNotice) => void) | undefined;
    return {
      tell: (notice) => {
        if (this.areLost) return;
        for (const hear of this.#hearers) if (hear !== own) hear(notice);
      },
      listen: (hear) => {
        own = hear;
        this.#hearers.add(hear);
        return () => void this.#hearers.delete(hear);
      },
    };
  }
}
