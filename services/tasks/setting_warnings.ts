/**
 * Settings that the service starts with though hardly anybody means them.
 *
 * @module
 */

import type { TasksSettings } from "./settings.ts";

/** What to tell at the start about the settings, as messages. */
export function settingWarnings(
  { accountsMode, accountsToken, operatorToken }: Pick<
    TasksSettings,
    "accountsMode" | "accountsToken" | "operatorToken"
  >,
): readonly string[] {
  if (accountsMode !== "token" || accountsToken !== "") return [];
  const who = operatorToken === "" ? "Nobody" : "Only the operator";
  return [
    `${who} can create tenants: ACCOUNTS_MODE is token and ACCOUNTS_TOKEN is ` +
    'not set; make one with "openssl rand -hex 32", or set ACCOUNTS_MODE',
  ];
}
