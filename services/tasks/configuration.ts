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
import { type AllowList, parseAllowList } from "./delivery/allow_list.ts";
import { type MasterKeys, openMasterKeys } from "./secrets/master_keys.ts";
import { settingFaults } from "./setting_faults.ts";
import type { TasksSettings } from "./settings.ts";

/** The files of the process, as far as the service touches them. */
interface Files {
  /** Reads a text file; undefined when it is not there. */
  readonly read: (path: string) => Promise<string | undefined>;
  /** Writes a new file that its owner alone may read, durably; rejects when it is there. */
  readonly create: (path: string, text: string) => Promise<void>;
  /** Makes a folder with those above it, unless it is there. */
  readonly makeFolder: (path: string) => Promise<void>;
}

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
}

/** The outcome of reading the configuration. */
type ConfigurationOutcome =
  | { readonly kind: "ok"; readonly configuration: Configuration }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** Reads and makes what the settings name; reports all problems at once. */
export async function readConfiguration(
  settings: TasksSettings,
  tools: {
    readonly files: Files;
    readonly clock: Clock;
    readonly logger: Logger;
  },
): Promise<ConfigurationOutcome> {
  const problems: string[] = [];
  const trustedProxies = networksOf(settings.trustedProxies, problems);
  const allowList = allowListOf(settings.pushAllow, problems);
  problems.push(...settingFaults(settings));
  const plans = await plansOf(settings, { files: tools.files, problems });
  const masterKeys = await masterKeysOf(settings, {
    files: tools.files,
    problems,
  });
  if (problems.length > 0) return { kind: "invalid", problems };
  return {
    kind: "ok",
    configuration: {
      masterKeys,
      plans: plans ?? new PlanBook(),
      trustedProxies,
      allowList,
      tokens: tokensOf(settings, tools),
      identityProvider: providerOf(settings, tools.clock),
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
  { files, problems }: {
    readonly files: Files;
    readonly problems: string[];
  },
): Promise<PlanBook | undefined> {
  const { plansFile, defaultPlan } = settings;
  const defaultPlanId = defaultPlan === "" ? undefined : defaultPlan;
  try {
    if (plansFile === "") return new PlanBook([], { defaultPlanId });
    const text = await files.read(plansFile);
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
  { files, problems }: {
    readonly files: Files;
    readonly problems: string[];
  },
): Promise<MasterKeys | undefined> {
  const outcome = await openMasterKeys({
    keys: settings.masterKeys,
    file: settings.masterKeysFile,
    defaultFile: `${settings.dataDir}/master.key`,
    read: files.read,
    create: files.create,
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
export interface Certificate {
  /** The chain and the key as PEM. */
  readonly certificate: () => { readonly cert: string; readonly key: string };
  /** Reads them again; tells whether they have changed. */
  readonly reload: () => Promise<boolean>;
  /** When the certificate ends; only of one that can be used. */
  readonly notAfter: () => Date;
}

/** Where a certificate is. */
interface CertificateFiles {
  /** The chain as PEM. */
  readonly certFile: string;
  /** The key as PEM. */
  readonly keyFile: string;
  /** Reads a text file; undefined when it is not there. */
  readonly read: (path: string) => Promise<string | undefined>;
  /** Logs that it cannot be read again. */
  readonly logger: Logger;
}

/**
 * Reads a certificate.
 *
 * @throws {Error} when one of the files is not there
 */
export async function openCertificate(
  files: CertificateFiles,
): Promise<Certificate> {
  let current = await readBoth(files);
  return {
    certificate: () => current,
    notAfter: () => new Date(new X509Certificate(current.cert).validTo),
    async reload() {
      try {
        const next = await readBoth(files);
        const isNew = next.cert !== current.cert || next.key !== current.key;
        current = next;
        return isNew;
      } catch (error) {
        files.logger.error("Cannot read the certificate again; it stays", {
          error: String(error),
        });
        return false;
      }
    },
  };
}

async function readBoth(
  { certFile, keyFile, read }: CertificateFiles,
): Promise<{ readonly cert: string; readonly key: string }> {
  const cert = await read(certFile);
  const key = await read(keyFile);
  if (cert !== undefined && key !== undefined) return { cert, key };
  const missing = cert === undefined ? certFile : keyFile;
  throw new Error(`Cannot serve https: there is no file "${missing}"`);
}

/** The files of this process. */
export const processFiles: Files = {
  async read(path) {
    try {
      return await Deno.readTextFile(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  },
  async create(path, text) {
    using file = await Deno.open(path, {
      write: true,
      createNew: true,
      mode: 0o600,
    });
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(await file.write(rest));
    await file.sync();
  },
  async makeFolder(path) {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  },
};
