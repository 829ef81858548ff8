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
import { databaseSettings } from "../shared/postgres/settings.ts";
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

/** The settings that tell where the data is, which commands read as well. */
export const dataSettings = {
  store: choiceOption({
    name: "STORE",
    values: { sqlite: "sqlite", postgres: "postgres" },
    default: "sqlite",
    group: STORAGE,
    help: "sqlite: one instance, with a file in the data folder. postgres: " +
      "any number of instances on one database, which DATABASE_URL names.",
  }),
  dataDir: textOption({
    name: "DATA_DIR",
    default: "tasks-data",
    group: STORAGE,
    help: "Folder of the SQLite database, and of the master key where none " +
      "is set; created if it is missing.",
  }),
  ...databaseSettings("tercet", {
    shares: "a third each for writing, claiming and reading",
    beside: "notifications and one for names of workers",
  }),
} as const;

/** The values of {@linkcode dataSettings}. */
export type DataSettings = OptionValues<typeof dataSettings>;

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
  console: booleanOption({
    name: "CONSOLE",
    default: true,
    group: LISTENER,
    help: "Pages for people at /console of each tenant's host.",
  }),
  mcp: booleanOption({
    name: "MCP",
    default: true,
    group: LISTENER,
    help: "Tools for agents at /mcp of each tenant's host (Model Context " +
      "Protocol).",
  }),
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
      "the port speaks https. Reloaded when it changes.",
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
      "X-Forwarded-Proto and X-Forwarded-For are trusted.",
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
    help: "Bytes that the bodies of all requests together may take while " +
      "they arrive, and again while they wait to be processed; more get 503. " +
      "Of bodies of more than 64 KiB, 16 MiB are processed at a time. Each " +
      "instance has as much.",
  }),
  shutdownGraceMs: durationOption({
    name: "SHUTDOWN_GRACE",
    default: "20s",
    min: "0s",
    group: LISTENER,
    help: "Time for requests and push calls to end when the service stops. " +
      "Tasks of longer push calls are returned.",
  }),
  shutdownDrainDelayMs: durationOption({
    name: "SHUTDOWN_DRAIN_DELAY",
    default: "0s",
    min: "0s",
    group: LISTENER,
    help: "How long to go on after SIGTERM before the stop, while /readyz " +
      "answers 503, so that a balancer asks other instances. Longer than its " +
      "health check takes to notice.",
  }),
  ...dataSettings,
  durability: choiceOption({
    name: "DURABILITY",
    values: {
      strict: "strict",
      relaxed: "relaxed",
      replicated: "replicated",
    },
    default: "strict",
    group: STORAGE,
    help: "strict: the service answers a write after it is on disk. relaxed: " +
      "a crash of the machine, but not of the service, may lose the latest " +
      "writes. replicated, on PostgreSQL: the write is on a synchronous " +
      "standby as well; without one, writes get 503.",
  }),
  maxQueuedWrites: integerOption({
    name: "MAX_QUEUED_WRITES",
    default: 50_000,
    min: 100,
    group: STORAGE,
    help: "Writes that may wait for the disk; more get 503. One tenant may " +
      "have half of them, and less when others wait too.",
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
      "neither is set, a key is created in the data folder. With none, " +
      "secrets cannot be stored.",
  }),
  accountsMode: choiceOption({
    name: "ACCOUNTS_MODE",
    values: { open: "open", token: "token", closed: "closed" },
    default: "token",
    group: ACCOUNTS,
    help: "Callers who may create a tenant: everybody, bearers of " +
      "ACCOUNTS_TOKEN, or only the operator.",
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
    help: "Tenants that one address may create in an hour with " +
      "ACCOUNTS_MODE=open. Several instances share them out.",
  }),
  plansFile: textOption({
    name: "PLANS_FILE",
    default: "",
    group: ACCOUNTS,
    help: "YAML file with plans and prices, reloaded when it changes; when " +
      "not set, there is one unlimited plan.",
  }),
  defaultPlan: textOption({
    name: "DEFAULT_PLAN",
    default: "",
    group: ACCOUNTS,
    help: "Plan of new tenants. When not set, the first of the file.",
  }),
  devTenantFallback: booleanOption({
    name: "DEV_TENANT_FALLBACK",
    default: false,
    group: ACCOUNTS,
    help: "Find tenants without a host name, by the header X-Tenant or a " +
      "path that begins with /t/<tenant>. Only for development.",
  }),
  idpIssuer: textOption({
    name: "IDP_ISSUER",
    default: "",
    group: PROVIDER,
    help: "Issuer of the bearer tokens of people. When not set, none are " +
      "accepted.",
  }),
  idpAudience: textOption({
    name: "IDP_AUDIENCE",
    default: "",
    group: PROVIDER,
    help: "Required audience of the tokens.",
  }),
  idpJwksUrl: textOption({
    name: "IDP_JWKS_URL",
    default: "",
    group: PROVIDER,
    help: "Address of the issuer's keys. When not set, " +
      "<issuer>/.well-known/jwks.json.",
  }),
  idpClientId: textOption({
    name: "IDP_CLIENT_ID",
    default: "",
    group: PROVIDER,
    help: "Client at the provider by which people sign in to the console, " +
      "with https://<tenant's host>/console/sign-in/callback as its redirect.",
  }),
  idpClientSecret: textOption({
    secret: true,
    name: "IDP_CLIENT_SECRET",
    default: "",
    group: PROVIDER,
    help: "Secret of that client; public clients have none.",
  }),
  idpUrl: textOption({
    name: "IDP_URL",
    default: "",
    group: PROVIDER,
    help: "Base of the provider's management API; the readiness check then " +
      "includes GET <url>/api/v2/.",
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
    help: "Create, change and remove users at the provider as well.",
  }),
  onTimeMs: durationOption({
    name: "SCHEDULE_ON_TIME",
    default: "10s",
    min: "1s",
    max: "24h",
    group: SCHEDULES,
    help: "How long after its date a run of a schedule is still on time. It " +
      "applies to schedules without on_time that are created or get a new " +
      "repeat from then on. With catch_up none a later run is missed.",
  }),
  pushAllow: listOption({
    name: "PUSH_ALLOW",
    default: [],
    group: PUSH,
    help:
      "Private addresses, networks or hosts (host:port) that may be called, " +
      "such as 127.0.0.1 or 10.0.0.0/8.",
  }),
  pushAllowHttp: booleanOption({
    name: "PUSH_ALLOW_HTTP",
    default: false,
    group: PUSH,
    help: "Allow calls to workers without TLS.",
  }),
  pushMaxInFlight: integerOption({
    name: "PUSH_MAX_IN_FLIGHT",
    default: 500,
    min: 1,
    max: 100_000,
    group: PUSH,
    help: "Concurrent calls of all tenants, at each instance. Tenants share " +
      "them equally when there are too few.",
  }),
};

/** The values of {@linkcode tasksSettings}. */
export type TasksSettings = OptionValues<typeof tasksSettings>;
