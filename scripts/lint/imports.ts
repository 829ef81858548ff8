/**
 * The lint rule about imports: which file may import which.
 *
 * @module
 */

import {
  findFloor,
  findRoom,
  isPureFile,
  isTestCode,
  type Room,
} from "./project_file.ts";
import { toPath, visitImports } from "./rule_context.ts";

/** An import in a source file. */
interface ImportEdge {
  /** The path of the importing file within the project. */
  readonly from: string;
  /** The specifier of the import, as written. */
  readonly specifier: string;
  /** Whether the import is an `import()` expression. */
  readonly isDynamic: boolean;
}

/** Reports imports that are not allowed between their two folders. */
export function checkImports(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const from = toPath(context);
  return visitImports(({ node, specifier, isDynamic }) => {
    const fault = importFault({ from, specifier, isDynamic });
    if (fault === undefined) return;
    context.report({
      node,
      message: `Cannot import "${specifier}" here: ${fault}`,
    });
  });
}

/** Returns what is wrong with an import; `undefined` when it is allowed. */
function importFault(edge: ImportEdge): string | undefined {
  const to = importedFile(edge.from, edge.specifier);
  return to === undefined ? packageFault(edge) : relativeFault(edge, to);
}

/**
 * Returns the path of the file that a specifier names; `undefined` when it
 * names a package.
 */
export function importedFile(
  from: string,
  specifier: string,
): string | undefined {
  return specifier.startsWith("./") || specifier.startsWith("../")
    ? new URL(specifier, `file:///${from}`).pathname.slice(1)
    : undefined;
}

function relativeFault(edge: ImportEdge, to: string): string | undefined {
  const { from } = edge;
  const [importer, imported] = [findRoom(from), findRoom(to)];
  if (importer.kind === "tests") return undefined;
  if (imported.kind === "tests") {
    if (isTestCode(from) && to.startsWith("tests/support/")) return undefined;
    return "nothing imports tests/, except that tests may import tests/support/";
  }
  if (importer.kind === "scripts") return undefined;
  if (isTestCode(to) && !isTestCode(from)) {
    return "what serves tests is imported by tests alone";
  }
  if (imported.kind === "scripts") return "nothing imports scripts/";
  if (imported.kind === "cli" && importer.kind !== "cli") {
    return "nothing imports services/cli/, which stands above all others";
  }
  switch (importer.kind) {
    case "sdk":
      return imported.kind === "sdk" ? undefined : "sdk/ imports only itself";
    case "proto":
      return imported.kind === "proto"
        ? undefined
        : "proto/ imports only itself";
    case "shared":
      return sharedFault({ from, to, imported });
    case "service":
      return serviceFault({ ...edge, name: importer.name, to, imported });
    case "cli":
    case "other":
      return undefined;
  }
}

/**
 * Folders of services that may import `sdk/vault/`: the encryption for an
 * owner's keys, the encoding of a ledger's values and the bytes of a receipt
 * must be the same in the SDK and in the services.
 */
const VAULT_USERS: readonly string[] = [
  "services/keyserver/",
  "services/localnet/",
  "services/relayer/ledger/",
  "services/relayer/receipts/",
  "services/relayer/vault/",
  "services/shared/ledger/",
];

/**
 * The page that owners run in their browsers is a client, as others are; so are
 * the tools that agents call, which act for an owner with the SDK. Those of tasks
 * have the SDK's fence around data.
 */
const CLIENTS: readonly string[] = [
  "services/relayer/browser/",
  "services/relayer/mcp/",
  "services/tasks/mcp/",
];

function mayUseVault(from: string, to: string): boolean {
  return to.startsWith("sdk/vault/") &&
    VAULT_USERS.some((room) => from.startsWith(room));
}

function sharedFault(
  { from, to, imported }: Pick<ServiceImport, "from" | "to" | "imported">,
): string | undefined {
  if (imported.kind === "shared" || imported.kind === "proto") return undefined;
  if (imported.kind === "sdk" && mayUseVault(from, to)) return undefined;
  return "services/shared/ imports no service and not the SDK";
}

interface ServiceImport extends Omit<ImportEdge, "specifier"> {
  readonly name: string;
  readonly to: string;
  readonly imported: Room;
}

function serviceFault(edge: ServiceImport): string | undefined {
  const { from, name, to, imported } = edge;
  if (imported.kind === "shared" || imported.kind === "proto") return undefined;
  if (imported.kind === "service") {
    if (imported.name === name) return floorFault(from, to);
    return mayUseLedger(edge)
      ? undefined
      : "a service imports no other service";
  }
  if (imported.kind === "sdk") {
    return mayUseVault(from, to) ||
        CLIENTS.some((room) => from.startsWith(room))
      ? undefined
      : "a service does not import the SDK";
  }
  return undefined;
}

/**
 * Tells whether an import is one of the two between the relayer and the room of
 * its embedded ledger's RPC: that room uses the accounts, and the relayer's
 * program loads the room.
 */
function mayUseLedger({ from, to, isDynamic }: ServiceImport): boolean {
  return from.startsWith("services/localnet/")
    ? to.startsWith("services/relayer/ledger/")
    : isDynamic && from === "services/relayer/main.ts" &&
      to.startsWith("services/localnet/");
}

/**
 * Returns why a folder may not import from another folder of its service. Tests
 * and their helpers may import from every folder.
 */
function floorFault(from: string, to: string): string | undefined {
  if (isTestCode(from)) return undefined;
  const [importer, imported] = [findFloor(from), findFloor(to)];
  if (importer === undefined || imported === undefined) return undefined;
  const isAllowed = importer.folder === imported.folder ||
    imported.height < importer.height;
  return isAllowed
    ? undefined
    : `${imported.folder}/ does not stand below ${importer.folder}/`;
}

/** A specifier that names a package with its registry, or an address. */
const ADDRESS = /^(?:npm|jsr|https?):/;

function packageFault(edge: ImportEdge): string | undefined {
  const { from, specifier, isDynamic } = edge;
  if (isTestCode(from)) return undefined;
  if (isPureFile(from) && specifier.startsWith("node:")) {
    return "a pure folder imports nothing of node:";
  }
  switch (findRoom(from).kind) {
    case "proto":
      return "proto/ imports only itself";
    case "sdk":
      return sdkPackageFault({ from, specifier, isDynamic });
    case "shared":
    case "cli":
    case "service":
      return ADDRESS.test(specifier)
        ? "packages of services are in the imports of deno.json; what tests " +
          "and scripts alone need is named where it is used"
        : undefined;
    default:
      return undefined;
  }
}

function sdkPackageFault(edge: ImportEdge): string | undefined {
  const { from, specifier, isDynamic } = edge;
  if (ADDRESS.test(specifier) || /^(?:node:|@std\/)/.test(specifier)) {
    return "sdk/ runs everywhere: no node:, no @std, no address";
  }
  if (specifier.startsWith("@noble/") || isDynamic) return undefined;
  if (from === "sdk/ai.ts" && specifier === "ai") return undefined;
  return "sdk/ imports an optional package only with import()";
}
