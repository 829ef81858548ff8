/**
 * What settings ask of each other.
 *
 * @module
 */

import { serviceCredentialFault } from "./auth/owner_tokens.ts";
import type { RelayerSettings } from "./settings.ts";
import { parseMasterKeys } from "./vault/master_keys.ts";

/** Everything that is wrong with settings, one sentence each. */
export function settingFaults(settings: RelayerSettings): readonly string[] {
  const faults: string[] = [];
  const { ledgerRpcUrl, ledgerPackageId, publisherUrl, aggregatorUrls } =
    settings;
  if (ledgerRpcUrl !== "" && ledgerPackageId === "") {
    faults.push(
      "Cannot read accounts of LEDGER_RPC_URL: LEDGER_PACKAGE_ID must say " +
        "whose accounts count",
    );
  }
  if ((publisherUrl === "") !== (aggregatorUrls.length === 0)) {
    faults.push(
      "Cannot keep blobs elsewhere: BLOB_PUBLISHER_URL and " +
        "BLOB_AGGREGATOR_URLS go together",
    );
  }
  const urls: readonly (readonly [string, string])[] = [
    ["LEDGER_RPC_URL", ledgerRpcUrl],
    ["BLOB_PUBLISHER_URL", publisherUrl],
    ["PUBLIC_URL", settings.publicUrl],
    ["EMBEDDING_API_BASE", settings.embeddingUrl],
    ["CHAT_API_BASE", settings.chatUrl],
    ...aggregatorUrls.map((url) => ["BLOB_AGGREGATOR_URLS", url] as const),
  ];
  for (const [name, url] of urls) {
    if (url !== "" && !isHttpUrl(url)) {
      faults.push(`Cannot use ${name} "${url}": it is no http or https URL`);
    }
  }
  if (settings.masterKeys !== "") {
    const outcome = parseMasterKeys(settings.masterKeys);
    if (outcome.kind === "invalid") {
      faults.push(`${outcome.reason} (MASTER_KEYS)`);
    }
  }
  if (settings.serviceCredential !== "") {
    const fault = serviceCredentialFault(settings.serviceCredential);
    if (fault !== undefined) faults.push(`${fault} (SERVICE_CREDENTIAL)`);
  }
  return faults;
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null &&
    (url.protocol === "http:" || url.protocol === "https:");
}
