/**
 * Repeatedly kills the tasks service under load and checks what is left of the
 * tasks it accepted; see `--help`.
 *
 * @module
 */

import { decidedSource, runDeno, withStd } from "./launch/deno_process.ts";
import { expandPermissions } from "./permissions.ts";

if (import.meta.main) {
  const command = [
    "run",
    "--permissions=script",
    "tests/tasks/chaos/soak.ts",
    ...Deno.args,
  ];
  const args = expandPermissions(command, { execPath: Deno.execPath() });
  Deno.exit(await runDeno(withStd(args, decidedSource())));
}
