/**
 * Serves tasks as the service does, changed for what is measured: counts the
 * starts that a claim lost to another instance, and does without notices where
 * that is asked for.
 *
 * @module
 */

import { processIo } from "../../../services/shared/command_line.ts";
import { Notifications } from "../../../services/shared/postgres/notifications.ts";
import { run } from "../../../services/tasks/main.ts";
import { Claims } from "../../../services/tasks/store/postgres/claims.ts";

/** The variable with the file that gets a byte for each start that was lost. */
export const LOST_STARTS = "BENCH_LOST_STARTS";
/** The variable that, when it is set, ends all notices. */
export const WITHOUT_NOTICES = "BENCH_WITHOUT_NOTICES";

if (import.meta.main) {
  const file = Deno.env.get(LOST_STARTS);
  if (file !== undefined) countLostStarts(file);
  if (Deno.env.has(WITHOUT_NOTICES)) Notifications.prototype.tell = () => {};
  Deno.exit(await run([], processIo()));
}

function countLostStarts(file: string): void {
  const claim = Claims.prototype.claim;
  Claims.prototype.claim = async function (...of) {
    const results = await claim.apply(this, of);
    const lost = results.filter(({ kind }) => kind !== "ok").length;
    if (lost > 0) {
      await Deno.writeTextFile(file, ".".repeat(lost), { append: true });
    }
    return results;
  };
}
