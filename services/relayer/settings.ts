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
        "Where clients reach the relayer, such as https://memory.example; " +
        "/config names it as the ledger's address when the ledger is embedded. " +
        "The address it listens on when empty.",
    }),
    trustedProxies: listOption({
      name: "TRUSTED_PROXIES",
      default: [],
      help: "Addresses or networks of proxies whose X-Forwarded-For counts: " +
        "requests without signature, and transactions of the ledger, are " +
        "counted by the client's address.",
    }),
    corsOrigins: listOption({
      name: "CORS_ORIGINS",
      default: ["*"],
      help: "Origins whose pages may call; requests carry signatures and no " +
        "cookies, so * is safe.",
    }),
    maxBodiesBytes: integerOption({
      name: "MAX_BODIES_BYTES",
      default: 134_217_728,
      min: 4_194_304,
      help: "Bytes that the bodies of all requests together may hold while " +
        "they arrive; beyond it 503.",
    }),
    maxAnswerBytes: integerOption({
      name: "MAX_ANSWER_BYTES",
      default: 1_048_576,
      min: 1_024,
      help:
        "Bytes of memories that a recall reads and answers with, but always " +
        "one memory; the ids of the others are named in omitted_ids.",
    }),
    shutdownGraceMs: durationOption({
      name: "SHUTDOWN_GRACE",
      default: "20s",
      min: "0s",
      help: "Time that requests and jobs have to end when the service stops; " +
        "jobs that take longer go on at the next start.",
    }),
  }),
  ...inGroup("Storage", {
    dataDir: textOption({
      name: "DATA_DIR",
      default: "relayer-data",
      help:
        "Folder of the databases, keys and blobs; made when it is not there.",
    }),
    masterKeys: textOption({
      secret: true,
      name: "MASTER_KEYS",
      default: "",
      help: "Keys that wrap the owners' keys, each base64 of 32 bytes or " +
        "<id>:<base64>, several with commas, the current one first. When empty, " +
        "a key is made in the data folder.",
    }),
    publisherUrl: textOption({
      name: "BLOB_PUBLISHER_URL",
      default: "",
      help:
        "Publisher that takes blobs over HTTP. Blobs are files in the data " +
        "folder when empty.",
    }),
    aggregatorUrls: listOption({
      name: "BLOB_AGGREGATOR_URLS",
      default: [],
      help:
        "Aggregators that give blobs over HTTP, asked one after the other " +
        "until one answers.",
    }),
    blobEpochs: integerOption({
      name: "BLOB_EPOCHS",
      default: 5,
      min: 1,
      max: 1_000,
      help: "Epochs that the publisher is asked to keep a blob for.",
    }),
    indexBytes: integerOption({
      name: "INDEX_BYTES",
      default: 2_147_483_648,
      min: 65_536,
      max: 4_294_967_296,
      help: "About how many bytes of memory the index may take: 3 kB for a " +
        "memory with a vector of the built-in embedder, 10 kB with a model's. " +
        "Owners who have not recalled for the longest leave it, and are read " +
        "again with their next recall. One owner always has room.",
    }),
    ranking: choiceOption({
      name: "RANKING",
      values: { semantic: "semantic", fused: "fused" },
      default: "semantic",
      help: "What finds memories for a text where a request does not say: " +
        "semantic, their vectors alone, as released clients know it; fused, " +
        "words and vectors together, which finds more.",
    }),
    quotaBytes: integerOption({
      name: "STORAGE_QUOTA_BYTES",
      default: 1_073_741_824,
      min: 1_024,
      help: "Bytes of blobs that an owner may have; beyond it 402.",
    }),
    maxOpenJobs: integerOption({
      name: "MAX_OPEN_JOBS",
      default: 100_000,
      min: 20,
      help: "Unfinished jobs that an owner may have; beyond it 503.",
    }),
    jobMaxAttempts: integerOption({
      name: "JOB_MAX_ATTEMPTS",
      default: 10,
      min: 1,
      max: 100,
      help: "How often a job is begun that fails by a fault of the relayer's " +
        "own, with waits that double from 2 seconds to 5 minutes, until it is " +
        "given up. Jobs that fail because of others are tried until they are " +
        "stored.",
    }),
    jobRetentionMs: durationOption({
      name: "JOB_RETENTION",
      default: "168h",
      min: "1h",
      help: "How long the status of a finished job can be asked for.",
    }),
    tombstoneRetentionMs: durationOption({
      name: "TOMBSTONE_RETENTION",
      default: "720h",
      min: "1h",
      help:
        "How long listings tell of deleted memories; older cursors have to " +
        "start over.",
    }),
  }),
  ...inGroup("Access", {
    ledgerRpcUrl: textOption({
      name: "LEDGER_RPC_URL",
      default: "",
      help:
        "Full node that accounts are read from over JSON-RPC. Accounts are " +
        "kept in the data folder when empty.",
    }),
    ledgerPackageId: textOption({
      name: "LEDGER_PACKAGE_ID",
      default: "",
      help: "The package whose accounts count; needed with LEDGER_RPC_URL.",
    }),
    ledgerRegistryId: textOption({
      name: "LEDGER_REGISTRY_ID",
      default: "",
      help:
        "The object that lists the accounts by owner; without it whether an " +
        "owner has one cannot be asked of the full node.",
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
      help:
        'What "relayer ledger" asks of relayers that keep their catalogue ' +
        "of blobs with it. A relayer that has it and LEDGER_RPC_URL does so, " +
        "and can then be restored from nothing.",
    }),
    keyServers: listOption({
      name: "KEY_SERVERS",
      default: [],
      help: "Key servers that /config and the embedded ledger make known to " +
        "clients that encrypt by themselves, each <url>=<public key>, the key as " +
        "192 hexadecimal digits.",
    }),
    keyServerThreshold: integerOption({
      name: "KEY_SERVER_THRESHOLD",
      default: 0,
      min: 0,
      max: 100,
      help:
        "The number of key servers needed to decrypt, as /config states it. " +
        "With 0 two, or one where there is only one.",
    }),
    vault: choiceOption({
      name: "VAULT",
      values: { local: "local", "key-servers": "key-servers" },
      default: "local",
      help: "What opens memories: keys of the data folder, or only keys that " +
        "KEY_SERVERS give to a session of their owner, which clients then send in " +
        "x-seal-session. Memories from before stay readable; " +
        '"relayer vault rewrap" puts them behind the key servers.',
    }),
    ledgerRpcEnabled: booleanOption({
      name: "LEDGER_RPC_ENABLED",
      default: true,
      help: "Whether clients may read the embedded ledger over JSON-RPC and " +
        "send it transactions, at / and /rpc. Released SDKs from 0.0.5 on need " +
        "it; /config names no ledger without it.",
    }),
    ledgerPerMinute: integerOption({
      name: "LEDGER_TRANSACTIONS_PER_MINUTE",
      default: 30,
      min: 1,
      help: "Transactions a minute that the embedded ledger takes from one " +
        "network address, and of one sender.",
    }),
    ledgerPerDay: integerOption({
      name: "LEDGER_TRANSACTIONS_PER_DAY",
      default: 10_000,
      min: 1,
      help:
        "Transactions within 24 hours that the embedded ledger takes from " +
        "all together, and a tenth of them from one network address; each " +
        "takes about 3 kB for good. Beyond it owners can still take keys away " +
        "and switch accounts off.",
    }),
    authWindowMs: durationOption({
      name: "AUTH_WINDOW",
      default: "300s",
      min: "1s",
      max: "600s",
      help: "How far the clock of a client may be off.",
    }),
    legacyAuth: booleanOption({
      name: "LEGACY_AUTH",
      default: false,
      help:
        "Whether requests of the oldest released SDK are taken, which are " +
        "signed without nonce and account.",
    }),
    serviceCredential: textOption({
      secret: true,
      name: "SERVICE_CREDENTIAL",
      default: "",
      help: "What POST /v1/owner-tokens asks for; there are no owner tokens " +
        "when empty.",
    }),
    rateLimitDisabled: booleanOption({
      name: "RATE_LIMIT_DISABLED",
      default: false,
      help: "Whether callers may call as often as they like.",
    }),
    ratePerKeyMinute: integerOption({
      name: "RATE_PER_KEY_MINUTE",
      default: 300,
      min: 1,
      help:
        "Points a minute of a delegate key; a remember costs 5, most reads 1, " +
        "and looking after a job a tenth.",
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
        "when they cost none.",
    }),
  }),
  ...inGroup("Models", {
    embeddingUrl: textOption({
      name: "EMBEDDING_API_BASE",
      default: "",
      help: "OpenAI-compatible endpoint that makes vectors, such as " +
        "https://api.example/v1. The built-in embedder is used when empty: it " +
        "needs nothing and finds words, not meanings.",
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
      help: "The model it is asked for. After a change all vectors are made " +
        "again, see RENEWALS_PER_SECOND.",
    }),
    embeddingWidth: integerOption({
      name: "EMBEDDING_WIDTH",
      default: 1_536,
      min: 1,
      max: 8_192,
      help:
        "How many numbers its vectors have. A model that has another width is " +
        "asked for this one; if it has not, memories are found by words alone.",
    }),
    embeddingCache: integerOption({
      name: "EMBEDDING_CACHE",
      default: 1_000,
      min: 0,
      max: 100_000,
      help: "Questions whose vectors are kept in memory for ten minutes, so " +
        "that asking again costs no call, about 8 kB each; with 0 none is kept.",
    }),
    renewalsPerSecond: integerOption({
      name: "RENEWALS_PER_SECOND",
      default: 100,
      min: 0,
      max: 10_000,
      help: "Memories a second whose vectors and words are made again in the " +
        "background, after a change of the embedder or of this program; with 0 " +
        "none are, until a start with a higher value.",
    }),
    chatUrl: textOption({
      name: "CHAT_API_BASE",
      default: "",
      help: "OpenAI-compatible endpoint that finds facts and answers " +
        "questions. Built-in rules do it when empty.",
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
      help: "The model it is asked for.",
    }),
    modelTimeoutMs: durationOption({
      name: "MODEL_TIMEOUT",
      default: "20s",
      min: "100ms",
      help: "How long an endpoint of models has for an answer.",
    }),
  }),
};

/** The values of {@linkcode relayerSettings}. */
export type RelayerSettings = OptionValues<typeof relayerSettings>;

/** The name of the ledger's file in the data folder. */
export const LEDGER_FILE = "ledger.db";
