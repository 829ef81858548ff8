/**
 * All settings of the relayer, with their defaults and help texts; they come
 * from environment variables.
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
  inGroup,
  integerOption,
  listOption,
  type OptionValues,
  portOption,
  textOption,
} from "../shared/options.ts";

/** The settings, by the name the service knows them under. */
export const relayerSettings = {
  ...publicPortSettings,
  ...logSettings,
  port: portOption({
    name: "PORT",
    default: 8000,
    group: "Listener",
    help: "Port to listen on.",
  }),
  ...metricsSettings(9092),
  ...tracingSettings({ serviceName: "relayer" }),
  ...inGroup("Listener", {
    publicUrl: textOption({
      name: "PUBLIC_URL",
      default: "",
      help:
        "The relayer's address for clients, such as https://memory.example. " +
        "With an embedded ledger /config names it as the ledger's address. " +
        "When empty, the address it listens on.",
    }),
    trustedProxies: listOption({
      name: "TRUSTED_PROXIES",
      default: [],
      help: "Addresses or networks of proxies whose X-Forwarded-For is " +
        "trusted. Requests without signature, and transactions of the " +
        "ledger, count by the client's address.",
    }),
    console: booleanOption({
      name: "CONSOLE",
      default: true,
      help:
        "A page for owners at /console, which runs the SDK in the browser, " +
        "and one for the operator at /console of METRICS_PORT.",
    }),
    corsOrigins: listOption({
      name: "CORS_ORIGINS",
      default: ["*"],
      help: "Origins whose pages may call. Requests have signatures and no " +
        "cookies, so * is safe.",
    }),
    maxBodiesBytes: integerOption({
      name: "MAX_BODIES_BYTES",
      default: 134_217_728,
      min: 4_194_304,
      help: "Bytes that the bodies of all requests together may take while " +
        "they arrive; more get 503.",
    }),
    maxAnswerBytes: integerOption({
      name: "MAX_ANSWER_BYTES",
      default: 1_048_576,
      min: 1_024,
      help:
        "Bytes of memories that a recall reads and returns, but at least one " +
        "memory. omitted_ids names the others.",
    }),
    shutdownGraceMs: durationOption({
      name: "SHUTDOWN_GRACE",
      default: "20s",
      min: "0s",
      help: "Time for requests and jobs to end when the service stops. " +
        "Longer jobs continue at the next start.",
    }),
    shutdownDrainDelayMs: durationOption({
      name: "SHUTDOWN_DRAIN_DELAY",
      default: "0s",
      min: "0s",
      help: "How long to go on after SIGTERM before the stop, while /readyz " +
        "answers 503 and write_ready of /health is false, so that a balancer " +
        "asks other relayers. Longer than its health check takes to notice.",
    }),
  }),
  ...inGroup("Storage", {
    store: choiceOption({
      name: "STORE",
      values: { sqlite: "sqlite", postgres: "postgres" },
      default: "sqlite",
      help: "sqlite: one relayer, with files in the data folder. postgres: " +
        "any number of relayers on one database, which DATABASE_URL names; " +
        "MASTER_KEYS has to be set.",
    }),
    blobs: choiceOption({
      name: "BLOBS",
      values: { auto: "auto", folder: "folder", postgres: "postgres" },
      default: "auto",
      help: "Where blobs are, without BLOB_PUBLISHER_URL. folder: files in " +
        "the data folder, which relayers on one database then have to share. " +
        "postgres: in the database. auto: where STORE keeps its rows.",
    }),
    durability: choiceOption({
      name: "DURABILITY",
      values: { strict: "strict", replicated: "replicated" },
      default: "strict",
      help: "strict: the service answers a write after it is on disk. " +
        "replicated, on PostgreSQL: the write is on a synchronous standby as " +
        "well; without one, writes get 503.",
    }),
    dataDir: textOption({
      name: "DATA_DIR",
      default: "relayer-data",
      help:
        "Folder of the databases, keys and blobs; created if it is missing.",
    }),
    masterKeys: textOption({
      secret: true,
      name: "MASTER_KEYS",
      default: "",
      help: "Keys that wrap the owners' keys, each base64 of 32 bytes or " +
        "<id>:<base64>, several with commas, the current one first. When " +
        "empty, a key is created in the data folder; on PostgreSQL it has to " +
        "be set.",
    }),
    publisherUrl: textOption({
      name: "BLOB_PUBLISHER_URL",
      default: "",
      help: "Publisher that stores blobs over HTTP. When empty, blobs are " +
        "where BLOBS says.",
    }),
    aggregatorUrls: listOption({
      name: "BLOB_AGGREGATOR_URLS",
      default: [],
      help:
        "Aggregators that serve blobs over HTTP, called one after the other " +
        "until one answers.",
    }),
    blobEpochs: integerOption({
      name: "BLOB_EPOCHS",
      default: 5,
      min: 1,
      max: 1_000,
      help: "Epochs for which the publisher stores a blob.",
    }),
    indexBytes: integerOption({
      name: "INDEX_BYTES",
      default: 2_147_483_648,
      min: 65_536,
      max: 4_294_967_296,
      help: "Approximate bytes of memory for the index: 3 kB for a memory " +
        "with a vector of the built-in embedder, 10 kB with a model's. The " +
        "owners with the oldest recall are unloaded first, and loaded again " +
        "with their next recall. One owner always has room.",
    }),
    ranking: choiceOption({
      name: "RANKING",
      values: { semantic: "semantic", fused: "fused" },
      default: "semantic",
      help: "The ranking of requests without one: semantic uses vectors " +
        "only, as released clients expect; fused uses words and vectors, and " +
        "finds more.",
    }),
    quotaBytes: integerOption({
      name: "STORAGE_QUOTA_BYTES",
      default: 1_073_741_824,
      min: 1_024,
      help: "Bytes of blobs that an owner may have; more get 402.",
    }),
    maxOpenJobs: integerOption({
      name: "MAX_OPEN_JOBS",
      default: 100_000,
      min: 20,
      help: "Unfinished jobs that an owner may have; more get 503.",
    }),
    jobMaxAttempts: integerOption({
      name: "JOB_MAX_ATTEMPTS",
      default: 10,
      min: 1,
      max: 100,
      help: "Attempts of a job that fails because of the relayer itself, " +
        "with waits that double from 2 seconds to 5 minutes. Jobs that fail " +
        "because of others are retried until they are stored.",
    }),
    jobRetentionMs: durationOption({
      name: "JOB_RETENTION",
      default: "168h",
      min: "1h",
      help: "How long the status of a finished job stays available.",
    }),
    tombstoneRetentionMs: durationOption({
      name: "TOMBSTONE_RETENTION",
      default: "720h",
      min: "1h",
      help:
        "How long listings include deleted memories; older cursors have to " +
        "start over.",
    }),
  }),
  ...databaseSettings("tercet_relayer", {
    shares: "a third for writing rows, the others for reading",
    beside: "notifications and two each for locks, the ledger, and " +
      "writing keys and blobs",
  }),
  ...inGroup("Access", {
    ledgerRpcUrl: textOption({
      name: "LEDGER_RPC_URL",
      default: "",
      help: "Full node with the accounts, read over JSON-RPC. When empty, " +
        "accounts are in the data folder, or in the database (STORE).",
    }),
    ledgerPackageId: textOption({
      name: "LEDGER_PACKAGE_ID",
      default: "",
      help: "The package of the accounts; required with LEDGER_RPC_URL.",
    }),
    ledgerRegistryId: textOption({
      name: "LEDGER_REGISTRY_ID",
      default: "",
      help:
        "The object that lists the accounts by owner. Without it the full " +
        "node cannot answer whether an owner has an account.",
    }),
    ledgerNetwork: choiceOption({
      name: "LEDGER_NETWORK",
      values: {
        localnet: "localnet",
        devnet: "devnet",
        testnet: "testnet",
        mainnet: "mainnet",
      },
      default: "localnet",
      help: "The name of the network in /config.",
    }),
    ledgerCredential: textOption({
      secret: true,
      name: "LEDGER_CREDENTIAL",
      default: "",
      help: "Credential of relayers that keep their catalogue of blobs in " +
        '"relayer ledger". A relayer with it and LEDGER_RPC_URL does so, and ' +
        "can then be restored without its data folder.",
    }),
    keyServers: listOption({
      name: "KEY_SERVERS",
      default: [],
      help: "Key servers that /config and the embedded ledger announce to " +
        "clients that encrypt, each <url>=<public key>, the key as 192 " +
        "hexadecimal digits.",
    }),
    keyServerThreshold: integerOption({
      name: "KEY_SERVER_THRESHOLD",
      default: 0,
      min: 0,
      max: 100,
      help:
        "The number of key servers needed to decrypt, as /config states it. " +
        "0 means two, or one if there is only one.",
    }),
    vault: choiceOption({
      name: "VAULT",
      values: { local: "local", "key-servers": "key-servers" },
      default: "local",
      help: "The keys that open memories: keys of the data folder, or only " +
        "keys that KEY_SERVERS give to a session of the owner, which clients " +
        'send in x-seal-session. Earlier memories stay readable; "relayer ' +
        'vault rewrap" moves them behind the key servers.',
    }),
    ledgerRpcEnabled: booleanOption({
      name: "LEDGER_RPC_ENABLED",
      default: true,
      help: "Let clients read the embedded ledger over JSON-RPC and send it " +
        "transactions, at / and /rpc. Released SDKs from 0.0.5 on need it. " +
        "Without it /config names no ledger.",
    }),
    ledgerPerMinute: integerOption({
      name: "LEDGER_TRANSACTIONS_PER_MINUTE",
      default: 30,
      min: 1,
      help: "Transactions a minute that the embedded ledger accepts from one " +
        "network address, and from one sender; each relayer by itself.",
    }),
    ledgerPerDay: integerOption({
      name: "LEDGER_TRANSACTIONS_PER_DAY",
      default: 10_000,
      min: 1,
      help:
        "Transactions within 24 hours that the embedded ledger accepts in " +
        "all, and a tenth of them from one network address. Each takes about " +
        "3 kB permanently. Above the limit owners can still remove keys and " +
        "deactivate accounts.",
    }),
    authWindowMs: durationOption({
      name: "AUTH_WINDOW",
      default: "300s",
      min: "1s",
      max: "600s",
      help: "How far the clock of a client may differ.",
    }),
    legacyAuth: booleanOption({
      name: "LEGACY_AUTH",
      default: false,
      help: "Accept requests of the oldest released SDK, which are signed " +
        "without nonce and account.",
    }),
    serviceCredential: textOption({
      secret: true,
      name: "SERVICE_CREDENTIAL",
      default: "",
      help: "Credential for POST /v1/owner-tokens. When empty, there are no " +
        "owner tokens.",
    }),
    rateLimitDisabled: booleanOption({
      name: "RATE_LIMIT_DISABLED",
      default: false,
      help: "Turn rate limits off.",
    }),
    ratePerKeyMinute: integerOption({
      name: "RATE_PER_KEY_MINUTE",
      default: 300,
      min: 1,
      help:
        "Points a minute of a delegate key; a remember costs 5, most reads " +
        "1, and the status of a job a tenth.",
    }),
    ratePerAccountMinute: integerOption({
      name: "RATE_PER_ACCOUNT_MINUTE",
      default: 600,
      min: 1,
      help: "Points a minute of an account.",
    }),
    ratePerAccountHour: integerOption({
      name: "RATE_PER_ACCOUNT_HOUR",
      default: 10_000,
      min: 1,
      help: "Points an hour of an account.",
    }),
    pointBytes: integerOption({
      name: "RATE_POINT_BYTES",
      default: 262_144,
      min: 0,
      help: "Bytes of bodies, blobs and answers that cost one more point; 0 " +
        "for no cost.",
    }),
  }),
  ...inGroup("Models", {
    embeddingUrl: textOption({
      name: "EMBEDDING_API_BASE",
      default: "",
      help: "OpenAI-compatible endpoint for vectors, such as " +
        "https://api.example/v1. When it and EMBEDDER_FILE are empty, the " +
        "built-in embedder is used, which needs no model and finds words, not " +
        "meanings.",
    }),
    embedderFile: textOption({
      name: "EMBEDDER_FILE",
      default: "",
      help: "Folder of a static embedding model in the form of model2vec " +
        "(config.json, tokenizer.json, model.safetensors), which makes the " +
        "vectors without a network. It has a width of its own. After a change " +
        "all vectors are computed again, see RENEWALS_PER_SECOND.",
    }),
    embeddingKey: textOption({
      secret: true,
      name: "EMBEDDING_API_KEY",
      default: "",
      help: "Its bearer token.",
    }),
    embeddingModel: textOption({
      name: "EMBEDDING_MODEL",
      default: "text-embedding-3-small",
      help: "The embedding model. After a change all vectors are computed " +
        "again, see RENEWALS_PER_SECOND.",
    }),
    embeddingWidth: integerOption({
      name: "EMBEDDING_WIDTH",
      default: 1_536,
      min: 1,
      max: 8_192,
      help:
        "The width of its vectors. The relayer asks a model for this width. " +
        "If the model does not support it, memories are found by words only.",
    }),
    embeddingCache: integerOption({
      name: "EMBEDDING_CACHE",
      default: 1_000,
      min: 0,
      max: 100_000,
      help: "Questions whose vectors stay in memory for ten minutes, about 8 " +
        "kB each, so that repeated questions cost no call. 0 keeps none.",
    }),
    renewalsPerSecond: integerOption({
      name: "RENEWALS_PER_SECOND",
      default: 100,
      min: 0,
      max: 10_000,
      help: "Memories a second whose vectors and words are computed again in " +
        "the background, after a change of the embedder or of this program. " +
        "0 renews none.",
    }),
    chatUrl: textOption({
      name: "CHAT_API_BASE",
      default: "",
      help: "OpenAI-compatible endpoint that extracts facts and answers " +
        "questions. When empty, built-in rules do.",
    }),
    chatKey: textOption({
      secret: true,
      name: "CHAT_API_KEY",
      default: "",
      help: "Its bearer token.",
    }),
    chatModel: textOption({
      name: "CHAT_MODEL",
      default: "gpt-4o-mini",
      help: "The chat model.",
    }),
    modelTimeoutMs: durationOption({
      name: "MODEL_TIMEOUT",
      default: "20s",
      min: "100ms",
      help: "Time limit for an answer of a model.",
    }),
  }),
};

/** The values of {@linkcode relayerSettings}. */
export type RelayerSettings = OptionValues<typeof relayerSettings>;

/** The name of the ledger's file in the data folder. */
export const LEDGER_FILE = "ledger.db";

/** Where the settings keep blobs. */
export function blobPlace(
  { blobs, store, publisherUrl }: RelayerSettings,
): "publisher" | "folder" | "postgres" {
  if (publisherUrl !== "") return "publisher";
  if (blobs !== "auto") return blobs;
  return store === "postgres" ? "postgres" : "folder";
}

/** Whether the settings keep anything in files of the data folder. */
export function usesDataFolder(settings: RelayerSettings): boolean {
  return settings.store === "sqlite" || blobPlace(settings) === "folder";
}
