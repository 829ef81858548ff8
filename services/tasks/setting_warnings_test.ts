import { assertEquals } from "@std/assert";
import { settingWarnings } from "./setting_warnings.ts";

Deno.test("settingWarnings() tells that nobody can create tenants", () => {
  const cases = [
    ["token", "", "", "Nobody can"],
    ["token", "", "op", "Only the operator can"],
    ["token", "acc", "", undefined],
    ["open", "", "", undefined],
    ["closed", "", "", undefined],
  ] as const;
  for (const [accountsMode, accountsToken, operatorToken, begin] of cases) {
    const warnings = settingWarnings({
      accountsMode,
      accountsToken,
      operatorToken,
    });
    const shown = begin === undefined ? [] : [
      `${begin} create tenants: ACCOUNTS_MODE is token and ACCOUNTS_TOKEN is ` +
      'not set; make one with "openssl rand -hex 32", or set ACCOUNTS_MODE',
    ];
    assertEquals(warnings, shown);
  }
});
