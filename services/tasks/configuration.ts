/**
 * Reads the files that settings name and makes the parts of the service that depend
 * on them: plans, master keys, token verification, the certificate.
 *
 * @module
 */

import { randomBytes, X509Certificate } from "node:crypto";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { IdentityProvider } from "./access/identity_provider.ts";
import { Jwks, jwksUrlOf } from "./access/jwks.ts";
import { JwtVerifier } from "./access/jwt.ts";
import { type Network, parseNetwork } from "../shared/ip_network.ts";
import { PlanBook } from "./engine/plan_book.ts";
import { parsePlansFile } from "./routes/service/plans_file.ts";
import { type AllowList, parseAllowList } from "./delivery/address_guard.ts";
import { type MasterKeys, openMasterKeys } from "./secrets/master_keys.ts";
import { settingFaults, settingWarnings } from "./setting_faults.ts";
import type { TasksSettings } from "./settings.ts";

/** The parts of the service that settings alone determine. */
export interface Configuration {
  /** Seals secrets; without it no secrets are kept. */
  readonly masterKeys: MasterKeys | undefined;
  /** Plans and prices. */
  readonly plans: PlanBook;
  /** Proxies whose `X-Forwarded-…` headers count. */
  readonly trustedProxies: readonly Network[];
  /** What push calls may reach although it is not public. */
  readonly allowList: AllowList;
  /** Verifies the tokens of people; absent when there is no identity provider. */
  readonly tokens: JwtVerifier | undefined;
  /** The identity provider's management API; absent when none is set. */
  readonly identityProvider: IdentityProvider | undefined;
  /** The certificate, when the port speaks https. */
  readonly tls: Certificate | undefined;
}

/** The outcome of reading the configuration. */
type ConfigurationOutcome =
  | { readonly kind: "ok"; readonly configuration: Configuration }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/**
 * Reads and makes what the settings name; reports all problems at once, and logs
 * what is worth knowing.
 */
export async function readConfiguration(
  settings: TasksSettings,
  tools: { readonly clock: Clock; readonly logger: Logger },
): Promise<ConfigurationOutcome> {
  const problems: string[] = [];
  const trustedProxies = networksOf(settings.trustedProxies, problems);
  const allowList = allowListOf(settings.pushAllow, problems);
  problems.push(...settingFaults(settings));
  const plans = await plansOf(settings, problems);
  const masterKeys = await masterKeysOf(settings, problems);
  const tls = await certificateOf(settings, tools.logger, problems);
  if (problems.length > 0) return { kind: "invalid", problems };
  for (const warning of settingWarnings(settings)) tools.logger.warn(warning);
  return {
    kind: "ok",
    configuration: {
      masterKeys,
      plans: plans ?? new PlanBook(),
      trustedProxies,
      allowList,
      tokens: tokensOf(settings, tools),
      identityProvider: providerOf(settings, tools.clock),
      tls,
    },
  };
}

function networksOf(
  texts: readonly string[],
  problems: string[],
): readonly Network[] {
  return texts.flatMap((text) => {
    const outcome = parseNetwork(text);
    if (outcome.kind === "ok") return [outcome.network];
    problems.push(`${outcome.reason} (TRUSTED_PROXIES)`);
    return [];
  });
}

function allowListOf(
  entries: readonly string[],
  problems: string[],
): AllowList {
  const outcome = parseAllowList(entries);
  if (outcome.kind === "ok") return outcome.allowList;
  problems.push(...outcome.problems.map((text) => `${text} (PUSH_ALLOW)`));
  return [];
}

async function plansOf(
  settings: TasksSettings,
  problems: string[],
): Promise<PlanBook | undefined> {
  const { plansFile, defaultPlan } = settings;
  const defaultPlanId = defaultPlan === "" ? undefined : defaultPlan;
  try {
    if (plansFile === "") return new PlanBook([], { defaultPlanId });
    const text = await readIfThere(plansFile);
    if (text === undefined) {
      problems.push(`Cannot read plans: there is no file "${plansFile}"`);
      return undefined;
    }
    const outcome = parsePlansFile(text);
    if (outcome.kind === "invalid") {
      problems.push(
        ...outcome.problems.map((problem) => `${problem} (${plansFile})`),
      );
      return undefined;
    }
    const { plans, prices } = outcome;
    return new PlanBook(plans, { defaultPlanId, prices });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problems.push(`${error.message} (DEFAULT_PLAN)`);
    return undefined;
  }
}

async function masterKeysOf(
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

function tokensOf(
  settings: TasksSettings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): JwtVerifier | undefined {
  const { idpIssuer, idpAudience, idpJwksUrl } = settings;
  if (idpIssuer === "") return undefined;
  return new JwtVerifier({
    issuer: idpIssuer,
    audiences: [idpAudience],
    clock,
    keys: new Jwks({
      url: idpJwksUrl === "" ? jwksUrlOf(idpIssuer) : idpJwksUrl,
      fetch,
      clock,
      logger,
    }),
  });
}

function providerOf(
  settings: TasksSettings,
  clock: Clock,
): IdentityProvider | undefined {
  const { idpUrl, idpAccessToken } = settings;
  return idpUrl === "" ? undefined : new IdentityProvider({
    url: idpUrl,
    accessToken: idpAccessToken,
    fetch,
    clock,
  });
}

/** A certificate that may change. */
interface Certificate {
  /** The chain and the key as PEM. */
  readonly certificate: () => CertificateTexts;
  /** Reads them again; tells whether they have changed. */
  readonly reload: () => Promise<boolean>;
  /** When the certificate ends; only of one that can be used. */
  readonly notAfter: () => Date;
}

interface CertificateTexts {
  readonly cert: string;
  readonly key: string;
}

async function certificateOf(
  settings: TasksSettings,
  logger: Logger,
  problems: string[],
): Promise<Certificate | undefined> {
  if (settings.tlsCertFile === "" || settings.tlsKeyFile === "") {
    return undefined;
  }
  const first = await readCertificate(settings);
  if (typeof first === "string") {
    problems.push(first);
    return undefined;
  }
  let current = first;
  return {
    certificate: () => current,
    notAfter: () => new Date(new X509Certificate(current.cert).validTo),
    async reload() {
      const before = current;
      const next = await readCertificate(settings).catch(String);
      if (typeof next === "string") {
        logger.error("Cannot read the certificate again; it stays", {
          error: next,
        });
        return false;
      }
      current = next;
      return next.cert !== before.cert || next.key !== before.key;
    },
  };
}

/** Reads both files; a text says which one is not there. */
async function readCertificate(
  { tlsCertFile, tlsKeyFile }: TasksSettings,
): Promise<CertificateTexts | string> {
  const cert = await readIfThere(tlsCertFile);
  const key = await readIfThere(tlsKeyFile);
  if (cert !== undefined && key !== undefined) return { cert, key };
  const missing = cert === undefined ? tlsCertFile : tlsKeyFile;
  return `Cannot serve https: there is no file "${missing}"`;
}

/** Reads a text file; gives undefined when it is not there. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Writes a new file that its owner alone may read, durably; rejects when it is
 * there.
 */
export async function createPrivately(
  path: string,
  text: string,
): Promise<void> {
  using file = await Deno.open(path, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await file.write(rest));
  await file.sync();
}
