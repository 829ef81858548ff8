/**
 * What settings name and has to be read or made before the service starts.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { IdentityProvider } from "./access/identity_provider.ts";
import { Jwks, jwksUrlOf } from "./access/jwks.ts";
import { JwtVerifier } from "./access/jwt.ts";
import { type Network, parseNetwork } from "./access/network.ts";
import { PlanBook } from "./engine/plan_book.ts";
import { parsePlansFile } from "./routes/service/plans_file.ts";
import { type AllowList, parseAllowList } from "./delivery/allow_list.ts";
import type { MasterKeys } from "./secrets/master_keys.ts";
import { openMasterKeys } from "./secrets/open_master_keys.ts";
import type { ServeOptions } from "./serve_options.ts";
import { settingFaults } from "./setting_faults.ts";
import type { TasksSettings } from "./settings.ts";

/** The files of the process, as far as the service touches them. */
export interface Files {
  /** Reads a text file; undefined when it is not there. */
  readonly read: (path: string) => Promise<string | undefined>;
  /** Writes a new file that its owner alone may read, durably; rejects when it is there. */
  readonly create: (path: string, text: string) => Promise<void>;
  /** Makes a folder with those above it, unless it is there. */
  readonly makeFolder: (path: string) => Promise<void>;
}

/** The parts that settings name. */
export type NamedParts = Pick<
  ServeOptions,
  "masterKeys" | "plans" | "parsed" | "tokens" | "identityProvider"
>;

/** What reading them comes to. */
export type NamedPartsOutcome =
  | { readonly kind: "ok"; readonly parts: NamedParts }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** Reads and makes what the settings name; tells everything that is wrong at once. */
export async function readParts(
  settings: TasksSettings,
  tools: {
    readonly files: Files;
    readonly clock: Clock;
    readonly logger: Logger;
  },
): Promise<NamedPartsOutcome> {
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
    parts: {
      masterKeys,
      plans: plans ?? new PlanBook(),
      parsed: { trustedProxies, allowList },
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
  const options = defaultPlan === "" ? {} : { defaultPlanId: defaultPlan };
  try {
    if (plansFile === "") return new PlanBook([], options);
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
    return new PlanBook(plans, { ...options, prices });
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
    accessToken: () => idpAccessToken,
    fetch,
    clock,
  });
}
