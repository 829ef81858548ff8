/**
 * Turns settings into the parts of the service that depend on settings alone:
 * plans, master keys, token verification, the certificate. Checks the settings
 * as a whole, and reads the files that they name.
 *
 * @module
 */

import { syncFolder } from "../shared/data_file.ts";
import { readIfThere } from "../shared/missing_file.ts";
import { settle } from "../shared/settled.ts";
import { randomBytes } from "../shared/random_bytes.ts";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import {
  certificateFaults,
  CertificateFiles,
} from "../shared/tls/certificate_files.ts";
import type { ChangeReports } from "../shared/watch/change_reports.ts";
import { configuredTokenFault } from "./access/authorization.ts";
import { parseServiceHost } from "./access/host.ts";
import { IdentityProvider } from "./access/identity_provider.ts";
import type { JwtVerifier } from "./access/jwt.ts";
import type { ProviderLogin } from "./access/provider_login.ts";
import { parseTrustedProxies } from "../shared/http/client_address.ts";
import type { Network } from "../shared/ip_network.ts";
import { PlanBook } from "./engine/plan_book.ts";
import { PlansFile, type PlansRead, readPlans } from "./plans_file.ts";
import { type AllowList, parseAllowList } from "./delivery/address_guard.ts";
import { type MasterKeys, openMasterKeys } from "./secrets/master_keys.ts";
import { storeFaults } from "./open_store.ts";
import type { TasksSettings } from "./settings.ts";

/** The parts of the service that settings alone determine. */
export interface Configuration {
  /**
   * The master keys, which seal secrets; without them the service keeps no
   * secrets.
   */
  readonly masterKeys: MasterKeys | undefined;
  /** Plans and prices. */
  readonly plans: PlanBook;
  /** The file that they follow; absent when none is set. */
  readonly plansFile: PlansFile | undefined;
  /** Proxies whose `X-Forwarded-…` headers are believed. */
  readonly trustedProxies: readonly Network[];
  /** Addresses that push calls may reach although they are not public. */
  readonly allowList: AllowList;
  /** Verifies the tokens of people; absent without an identity provider. */
  readonly tokens: JwtVerifier | undefined;
  /** Signs people in to the console; absent without a client at a provider. */
  readonly login: ProviderLogin | undefined;
  /** The identity provider's management API; absent when none is set. */
  readonly identityProvider: IdentityProvider | undefined;
  /** The certificate; absent when the port speaks plain http. */
  readonly tls: CertificateFiles | undefined;
}

/** What the parts need that change with their files. */
interface ConfigurationTools {
  /** Reports changes of the files. */
  readonly reports: ChangeReports;
  /** The clock of the service. */
  readonly clock: Clock;
  /** The logger of the service. */
  readonly logger: Logger;
}

/** The outcome of reading the configuration. */
type ConfigurationOutcome =
  | { readonly kind: "ok"; readonly configuration: Configuration }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/**
 * Everything that is wrong with the settings, as far as settings and plans
 * tell. No file is created.
 */
export async function configurationFaults(
  settings: TasksSettings,
): Promise<readonly string[]> {
  const faults: string[] = [];
  parseTrustedProxies(settings.trustedProxies, faults);
  readAllowList(settings.pushAllow, faults);
  faults.push(...settingFaults(settings));
  await loadPlans(settings, faults);
  await checkNamedKeys(settings, faults);
  const { tlsCertFile: cert, tlsKeyFile: key } = settings;
  const ofCertificate = await certificateFaults({ cert, key }, {
    cert: "TLS_CERT_FILE",
    key: "TLS_KEY_FILE",
  });
  faults.push(...ofCertificate.map((fault) => `Cannot serve https: ${fault}`));
  return faults;
}

/**
 * Builds the configuration: reads and makes what the settings name. Reports all
 * problems at once, and logs what the operator should know.
 */
export async function readConfiguration(
  settings: TasksSettings,
  tools: ConfigurationTools,
): Promise<ConfigurationOutcome> {
  const problems: string[] = [];
  const trustedProxies = parseTrustedProxies(settings.trustedProxies, problems);
  const allowList = readAllowList(settings.pushAllow, problems);
  const { plansFile } = settings;
  const plans = await loadPlans(settings, problems);
  const masterKeys = await loadMasterKeys(settings, problems);
  const tls = await openCertificate(settings, tools, problems);
  if (problems.length > 0) return { kind: "invalid", problems };
  for (const warning of settingWarnings(settings)) tools.logger.warn(warning);
  return {
    kind: "ok",
    configuration: {
      masterKeys,
      plans: plans?.plans ?? new PlanBook(),
      plansFile: plansFile === "" || plans === undefined
        ? undefined
        : new PlansFile({ path: plansFile, read: plans, ...tools }),
      trustedProxies,
      allowList,
      ...await openIssuer(settings, tools),
      identityProvider: createProvider(settings, tools),
      tls,
    },
  };
}

function readAllowList(
  entries: readonly string[],
  problems: string[],
): AllowList {
  const outcome = parseAllowList(entries);
  if (outcome.kind === "ok") return outcome.allowList;
  problems.push(...outcome.problems.map((text) => `${text} (PUSH_ALLOW)`));
  return [];
}

async function loadPlans(
  { plansFile, defaultPlan }: TasksSettings,
  problems: string[],
): Promise<PlansRead | undefined> {
  const outcome = await readPlans(
    plansFile === "" ? undefined : plansFile,
    defaultPlan === "" ? undefined : defaultPlan,
  );
  if (outcome.kind === "ok") return outcome.read;
  problems.push(...outcome.problems);
  return undefined;
}

async function loadMasterKeys(
  settings: TasksSettings,
  problems: string[],
): Promise<MasterKeys | undefined> {
  const outcome = await openMasterKeys({
    keys: settings.masterKeys,
    file: settings.masterKeysFile,
    defaultFile: `${settings.dataDir}/master.key`,
    read: readIfThere,
    create: createPrivately,
    randomBytes,
  });
  switch (outcome.kind) {
    case "ok":
      return outcome.masterKeys;
    case "none":
      return undefined;
    case "invalid":
      problems.push(outcome.problem);
      return undefined;
  }
}

/**
 * Checks the master keys that the settings name; no file of keys is created.
 */
async function checkNamedKeys(
  { masterKeys, masterKeysFile }: TasksSettings,
  problems: string[],
): Promise<void> {
  if (masterKeys === "" && masterKeysFile === "") return;
  const outcome = await openMasterKeys({
    keys: masterKeys,
    file: masterKeysFile,
    defaultFile: "",
    read: readIfThere,
    randomBytes,
  });
  if (outcome.kind === "invalid") problems.push(outcome.problem);
}

/** Opens what reads the tokens of the identity provider, by one set of keys. */
async function openIssuer(
  settings: TasksSettings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Pick<Configuration, "tokens" | "login">> {
  const { idpIssuer: issuer, idpAudience, idpJwksUrl } = settings;
  const { idpClientId: clientId, idpClientSecret: clientSecret } = settings;
  if (issuer === "") return { tokens: undefined, login: undefined };
  const [{ JwtVerifier }, { Jwks, toJwksUrl }, { ProviderLogin }] =
    await Promise.all([
      import("./access/jwt.ts"),
      import("./access/jwks.ts"),
      import("./access/provider_login.ts"),
    ]);
  const keys = new Jwks({
    url: idpJwksUrl === "" ? toJwksUrl(issuer) : idpJwksUrl,
    fetch,
    clock,
    logger,
  });
  return {
    tokens: new JwtVerifier({ issuer, audiences: [idpAudience], clock, keys }),
    login: clientId === "" ? undefined : new ProviderLogin({
      issuer,
      clientId,
      clientSecret,
      tokens: new JwtVerifier({ issuer, audiences: [clientId], clock, keys }),
      fetch,
      clock,
    }),
  };
}

function createProvider(
  settings: TasksSettings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): IdentityProvider | undefined {
  const { idpUrl, idpAccessToken } = settings;
  return idpUrl === "" ? undefined : new IdentityProvider({
    url: idpUrl,
    accessToken: idpAccessToken,
    fetch,
    clock,
    logger,
  });
}

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
  return [
    ...faults,
    ...storeFaults(settings),
    ...providerFaults(settings),
    ...tokenFaults(settings),
  ];
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
  if (settings.idpClientId !== "" && idpIssuer === "") {
    faults.push("Cannot use IDP_CLIENT_ID: IDP_ISSUER must name the provider");
  }
  if (settings.idpClientSecret !== "" && settings.idpClientId === "") {
    faults.push(
      "Cannot use IDP_CLIENT_SECRET: IDP_CLIENT_ID must name its client",
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
  // An issuer has to be a URL only where its key set is looked up below that.
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

/** What is wrong with a URL to which paths are appended. */
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

/** Warnings about the settings, to be logged at the start. */
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

/**
 * The certificate files, which are read again when they change while the
 * service runs.
 */
async function openCertificate(
  settings: TasksSettings,
  tools: ConfigurationTools,
  problems: string[],
): Promise<CertificateFiles | undefined> {
  const { tlsCertFile, tlsKeyFile } = settings;
  if (tlsCertFile === "" || tlsKeyFile === "") return undefined;
  const outcome = await CertificateFiles.open({
    paths: { cert: tlsCertFile, key: tlsKeyFile },
    ...tools,
  });
  if (outcome.kind === "open") return outcome.files;
  problems.push(`Cannot serve https: ${outcome.problem}`);
  return undefined;
}

/**
 * Durably writes a new file that only its owner may read; rejects when the file
 * exists. A write that fails leaves no file: half a key would be read as a
 * whole one.
 */
export async function createPrivately(
  path: string,
  text: string,
): Promise<void> {
  const file = await Deno.open(path, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  const written = await settle(async () => {
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(await file.write(rest));
    await file.sync();
  });
  file.close();
  if (written.kind === "failed") {
    await Deno.remove(path);
    throw written.error;
  }
  // Until the folder is synced, a crash may lose the file's name, and the next
  // start would make another key.
  await syncFolder(path.slice(0, path.lastIndexOf("/")));
}
