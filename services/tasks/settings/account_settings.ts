/**
 * Who may have an account, and what callers prove themselves with.
 *
 * @module
 */

import {
  booleanSetting,
  choiceSetting,
  integerSetting,
  secretSetting,
  textSetting,
} from "../../shared/settings.ts";

const ACCOUNTS = "Accounts";
const PROVIDER = "Identity provider";

/** The settings of this group, by the name the service knows them under. */
export const accountSettings = {
  accountsMode: choiceSetting({
    name: "ACCOUNTS_MODE",
    values: { open: "open", token: "token", closed: "closed" },
    default: "token",
    group: ACCOUNTS,
    help: "Who may create a tenant: everybody, whoever has ACCOUNTS_TOKEN, " +
      "or the operator alone.",
  }),
  accountsToken: secretSetting({
    name: "ACCOUNTS_TOKEN",
    default: "",
    group: ACCOUNTS,
    help: "Bearer token for creating tenants; 22 characters or more.",
  }),
  operatorToken: secretSetting({
    name: "OPERATOR_TOKEN",
    default: "",
    group: ACCOUNTS,
    help: "Bearer token of accounts.admin.<host>, 22 characters or more; " +
      "without it that host answers 401.",
  }),
  signupsPerHour: integerSetting({
    name: "SIGNUPS_PER_HOUR",
    default: 10,
    min: 1,
    max: 1_000_000,
    group: ACCOUNTS,
    help: "Tenants that one address may create in an hour while accounts " +
      "are open.",
  }),
  plansFile: textSetting({
    name: "PLANS_FILE",
    default: "",
    group: ACCOUNTS,
    help: "YAML file with plans and prices; one unlimited plan when not set.",
  }),
  defaultPlan: textSetting({
    name: "DEFAULT_PLAN",
    default: "",
    group: ACCOUNTS,
    help: "Plan of new tenants; the first of the file when not set.",
  }),
  devTenantFallback: booleanSetting({
    name: "DEV_TENANT_FALLBACK",
    default: false,
    group: ACCOUNTS,
    help: "Name tenants without a host name: by the header X-Tenant or a " +
      "path that begins with /t/<tenant>. For development alone.",
  }),
  idpIssuer: textSetting({
    name: "IDP_ISSUER",
    default: "",
    group: PROVIDER,
    help: "Issuer of the bearer tokens of people; none are taken when not set.",
  }),
  idpAudience: textSetting({
    name: "IDP_AUDIENCE",
    default: "",
    group: PROVIDER,
    help: "Audience the tokens must be meant for.",
  }),
  idpJwksUrl: textSetting({
    name: "IDP_JWKS_URL",
    default: "",
    group: PROVIDER,
    help: "Where the issuer's keys are; <issuer>/.well-known/jwks.json when " +
      "not set.",
  }),
  idpUrl: textSetting({
    name: "IDP_URL",
    default: "",
    group: PROVIDER,
    help: "Base of the provider's management API; GET <url>/api/v2/ is part " +
      "of the readiness check then.",
  }),
  idpAccessToken: secretSetting({
    name: "IDP_ACCESS_TOKEN",
    default: "",
    group: PROVIDER,
    help: "Token for the management API.",
  }),
  idpMirrorUsers: booleanSetting({
    name: "IDP_MIRROR_USERS",
    default: false,
    group: PROVIDER,
    help: "Whether users that are made, changed and removed here are so at " +
      "the provider.",
  }),
};
