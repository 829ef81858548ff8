/**
 * The settings of the tasks service, which are read from environment variables.
 *
 * @module
 */

import {
  metricsSettings,
  publicPortSettings,
} from "../shared/http1/settings.ts";
import { logSettings } from "../shared/logger.ts";
import { tracingSettings } from "../shared/telemetry/tracing_settings.ts";
import {
  booleanOption,
  choiceOption,
  durationOption,
  integerOption,
  listOption,
  type OptionValues,
  portOption,
  textOption,
} from "../shared/options.ts";

const LISTENER = "Listener";
const STORAGE = "Storage";
const ACCOUNTS = "Accounts";
const PROVIDER = "Identity provider";
const SCHEDULES = "Schedules";
const PUSH = "Push workers";

/** The settings, by their names in the code. */
export const tasksSettings = {
  ...publicPortSettings,
  ...logSettings,
  port: portOption({
    name: "PORT",
    default: 8070,
    group: LISTENER,
    help: "Port to listen on.",
  }),
  ...metricsSettings(9091),
  ...tracingSettings({ serviceName: "tasks" }),
  serviceHost: textOption({
    name: "SERVICE_HOST",
    default: "localhost",
    group: LISTENER,
    help: "Host whose subdomains are the tenants; accounts.<host> and " +
      "accounts.admin.<host> belong to the service.",
  }),
  tlsCertFile: textOption({
    name: "TLS_CERT_FILE",
    default: "",
    group: LISTENER,
    help: "Certificate chain as PEM, for every tenant's host name; with it " +
      "the port speaks https. Read again when it changes.",
  }),
  tlsKeyFile: textOption({
    name: "TLS_KEY_FILE",
    default: "",
    group: LISTENER,
    help: "Private key of the certificate as PEM.",
  }),
  trustedProxies: listOption({
    name: "TRUSTED_PROXIES",
    default: [],
    group: LISTENER,
    help: "Addresses or networks of proxies whose X-Forwarded-Host, " +
      "X-Forwarded-Proto and X-Forwarded-For count.",
  }),
  maxBodyBytes: integerOption({
    name: "MAX_BODY_BYTES",
    default: 16_777_216,
    min: 1_024,
    max: 268_435_456,
    group: LISTENER,
    help: "Longest body of a request in bytes. Plans bound a single task's " +
      "data, whose body may be twice as long and 128 KiB.",
  }),
  maxBatchBytes: integerOption({
    name: "MAX_BATCH_BYTES",
    default: 4_194_304,
    min: 1_024,
    max: 268_435_456,
    group: LISTENER,
    help: "Longest body of a batch of tasks in bytes; 1,000 tasks of 4 KB " +
      "by default. MAX_BODY_BYTES bounds it, too.",
  }),
  maxBodiesBytes: integerOption({
    name: "MAX_BODIES_BYTES",
    default: 134_217_728,
    min: 65_536,
    group: LISTENER,
    help: "Bytes that the bodies of all requests together may hold while " +
      "they arrive, and again while they wait to be worked on; beyond it " +
      "503. Of bodies of more than 64 KiB, 16 MiB are worked on at once.",
  }),
  shutdownGraceMs: durationOption({
    name: "SHUTDOWN_GRACE",
    default: "20s",
    min: "0s",
    group: LISTENER,
    help: "Time that requests and push calls have to end when the service " +
      "stops; push calls that take longer are given back.",
  }),
  dataDir: textOption({
    name: "DATA_DIR",
    default: "tasks-data",
    group: STORAGE,
    help: "Folder of the database; made when it is not there.",
  }),
  durability: choiceOption({
    name: "DURABILITY",
    values: { strict: "strict", relaxed: "relaxed" },
    default: "strict",
    group: STORAGE,
    help: "strict: an answer to a write comes after it is on disk. relaxed: " +
      "a crash of the machine, not of the service, may lose the last moments.",
  }),
  maxQueuedWrites: integerOption({
    name: "MAX_QUEUED_WRITES",
    default: 50_000,
    min: 100,
    group: STORAGE,
    help: "Writes that may wait for the disk; beyond it 503. One tenant may " +
      "have half of them, and less beside others that do.",
  }),
  masterKeys: textOption({
    secret: true,
    name: "MASTER_KEYS",
    default: "",
    group: STORAGE,
    help: "Keys that wrap the tenants' keys, each base64 of 32 bytes or " +
      "<id>:<base64>, several with commas, the current one first.",
  }),
  masterKeysFile: textOption({
    name: "MASTER_KEYS_FILE",
    default: "",
    group: STORAGE,
    help: "File with such keys, one a line, in place of MASTER_KEYS. When " +
      "neither is set, a key is made in the data folder; none keeps no secrets.",
  }),
  accountsMode: choiceOption({
    name: "ACCOUNTS_MODE",
    values: { open: "open", token: "token", closed: "closed" },
    default: "token",
    group: ACCOUNTS,
    help: "Who may create a tenant: everybody, bearers of ACCOUNTS_TOKEN, " +
      "or the operator alone.",
  }),
  accountsToken: textOption({
    secret: true,
    name: "ACCOUNTS_TOKEN",
    default: "",
    group: ACCOUNTS,
    help: "Bearer token for creating tenants; 22 characters or more.",
  }),
  operatorToken: textOption({
    secret: true,
    name: "OPERATOR_TOKEN",
    default: "",
    group: ACCOUNTS,
    help: "Bearer token of accounts.admin.<host>, 22 characters or more; " +
      "without it that host answers 401.",
  }),
  signupsPerHour: integerOption({
    name: "SIGNUPS_PER_HOUR",
    default: 10,
    min: 1,
    max: 1_000_000,
    group: ACCOUNTS,
    help: "Tenants that one address may create in an hour while accounts " +
      "are open.",
  }),
  plansFile: textOption({
    name: "PLANS_FILE",
    default: "",
    group: ACCOUNTS,
    help: "YAML file with plans and prices, read again when it changes; one " +
      "unlimited plan when not set.",
  }),
  defaultPlan: textOption({
    name: "DEFAULT_PLAN",
    default: "",
    group: ACCOUNTS,
    help: "Plan of new tenants; the first of the file when not set.",
  }),
  devTenantFallback: booleanOption({
    name: "DEV_TENANT_FALLBACK",
    default: false,
    group: ACCOUNTS,
    help: "Name tenants without a host name: by the header X-Tenant or a " +
      "path that begins with /t/<tenant>. For development alone.",
  }),
  idpIssuer: textOption({
    name: "IDP_ISSUER",
    default: "",
    group: PROVIDER,
    help:
      "Issuer of the bearer tokens of people; none are accepted when not set.",
  }),
  idpAudience: textOption({
    name: "IDP_AUDIENCE",
    default: "",
    group: PROVIDER,
    help: "Audience the tokens must be meant for.",
  }),
  idpJwksUrl: textOption({
    name: "IDP_JWKS_URL",
    default: "",
    group: PROVIDER,
    help: "Where the issuer's keys are; <issuer>/.well-known/jwks.json when " +
      "not set.",
  }),
  idpUrl: textOption({
    name: "IDP_URL",
    default: "",
    group: PROVIDER,
    help: "Base of the provider's management API; GET <url>/api/v2/ is part " +
      "of the readiness check then.",
  }),
  idpAccessToken: textOption({
    secret: true,
    name: "IDP_ACCESS_TOKEN",
    default: "",
    group: PROVIDER,
    help: "Token for the management API.",
  }),
  idpMirrorUsers: booleanOption({
    name: "IDP_MIRROR_USERS",
    default: false,
    group: PROVIDER,
    help: "Whether users that are made, changed and removed here are so at " +
      "the provider.",
  }),
  onTimeMs: durationOption({
    name: "SCHEDULE_ON_TIME",
    default: "10s",
    min: "1s",
    max: "24h",
    group: SCHEDULES,
    help:
      "How long behind its date a run of a schedule may begin and still be " +
      "on time; schedules made or given another repeat from then on have it " +
      "unless they say on_time. With catch_up none a later run is missed.",
  }),
  pushAllow: listOption({
    name: "PUSH_ALLOW",
    default: [],
    group: PUSH,
    help:
      "Addresses, networks or hosts (host:port) that may be called though " +
      "they are not public, such as 127.0.0.1 or 10.0.0.0/8.",
  }),
  pushAllowHttp: booleanOption({
    name: "PUSH_ALLOW_HTTP",
    default: false,
    group: PUSH,
    help: "Whether workers may be called without TLS.",
  }),
  pushMaxInFlight: integerOption({
    name: "PUSH_MAX_IN_FLIGHT",
    default: 500,
    min: 1,
    max: 100_000,
    group: PUSH,
    help: "Calls at once, of all tenants; when they run short, each tenant " +
      "has an equal share.",
  }),
};

/** The values of {@linkcode tasksSettings}. */
export type TasksSettings = OptionValues<typeof tasksSettings>;
