/**
 * Checks of settings that concern their form or several of them.
 *
 * @module
 */

import { configuredTokenFault } from "./access/authorization.ts";
import { parseServiceHost } from "./access/host.ts";
import type { TasksSettings } from "./settings.ts";

/** Everything that is wrong with the settings, as messages. */
export function settingFaults(settings: TasksSettings): readonly string[] {
  const faults: string[] = [];
  if (parseServiceHost(settings.serviceHost) !== settings.serviceHost) {
    faults.push(
      `Cannot use SERVICE_HOST "${settings.serviceHost}": it must be a host ` +
        "name in lower case, without scheme and port",
    );
  }
  if ((settings.tlsCertFile === "") !== (settings.tlsKeyFile === "")) {
    faults.push(
      "Cannot serve https: TLS_CERT_FILE and TLS_KEY_FILE go together",
    );
  }
  return [...faults, ...providerFaults(settings), ...tokenFaults(settings)];
}

function providerFaults(settings: TasksSettings): readonly string[] {
  const { idpIssuer, idpAudience, idpJwksUrl, idpUrl } = settings;
  const faults: string[] = [];
  if (idpIssuer !== "" && idpAudience === "") {
    faults.push(
      "Cannot accept tokens of IDP_ISSUER: IDP_AUDIENCE must name their " +
        "audience",
    );
  }
  if ((idpUrl === "") !== (settings.idpAccessToken === "")) {
    faults.push(
      "Cannot call the identity provider: IDP_URL and IDP_ACCESS_TOKEN go " +
        "together",
    );
  }
  if (settings.idpMirrorUsers && idpUrl === "") {
    faults.push("Cannot mirror users: IDP_URL is not set");
  }
  // An issuer is an address only where its keys are looked for below it.
  const hasKeysBelow = idpJwksUrl === "";
  if (hasKeysBelow) faults.push(...baseFaults("IDP_ISSUER", idpIssuer));
  faults.push(...baseFaults("IDP_URL", idpUrl));
  if (idpJwksUrl !== "" && httpUrl(idpJwksUrl) === undefined) {
    faults.push(
      `Cannot use IDP_JWKS_URL "${idpJwksUrl}": it must be an address that ` +
        "begins with https:// or http://",
    );
  }
  return faults;
}

/** What is wrong with an address that paths are put behind. */
function baseFaults(name: string, text: string): readonly string[] {
  if (text === "") return [];
  const url = httpUrl(text);
  if (url !== undefined && !/[?#]/.test(text)) return [];
  return [
    `Cannot use ${name} "${text}": it must be an address that begins with ` +
    "https:// or http://, without query and fragment",
  ];
}

function httpUrl(text: string): URL | undefined {
  // The URL parser would drop spaces and tolerate a missing slash.
  if (!/^https?:\/\/[^\s/]/i.test(text) || /\s/.test(text)) return undefined;
  return URL.parse(text) ?? undefined;
}

function tokenFaults(
  { accountsToken, operatorToken }: TasksSettings,
): readonly string[] {
  const tokens = {
    ACCOUNTS_TOKEN: accountsToken,
    OPERATOR_TOKEN: operatorToken,
  };
  return Object.entries(tokens).flatMap(([name, token]) => {
    const fault = token === "" ? undefined : configuredTokenFault(token, name);
    return fault === undefined ? [] : [fault];
  });
}

/** What to tell at the start about the settings, as messages. */
export function settingWarnings(
  { accountsMode, accountsToken, operatorToken }: Pick<
    TasksSettings,
    "accountsMode" | "accountsToken" | "operatorToken"
  >,
): readonly string[] {
  if (accountsMode !== "token" || accountsToken !== "") return [];
  const who = operatorToken === "" ? "No caller" : "Only the operator";
  return [
    `${who} can create tenants: ACCOUNTS_MODE is token and ACCOUNTS_TOKEN is ` +
    'not set; make one with "openssl rand -hex 32", or set ACCOUNTS_MODE',
  ];
}
