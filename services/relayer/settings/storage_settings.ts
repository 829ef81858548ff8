/**
 * Where memories are kept, and under which keys.
 *
 * @module
 */

import {
  durationSetting,
  integerSetting,
  listSetting,
  secretSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Storage";

/** The settings of this group, by the name the service knows them under. */
export const storageSettings = {
  dataDir: textSetting({
    name: "DATA_DIR",
    default: "relayer-data",
    group: GROUP,
    help: "Folder of the databases, keys and blobs; made when it is not there.",
  }),
  masterKeys: secretSetting({
    name: "MASTER_KEYS",
    default: "",
    group: GROUP,
    help: "Keys that wrap the owners' keys, each base64 of 32 bytes, several " +
      "with commas, the current one first. When empty, a key is made in the " +
      "data folder.",
  }),
  publisherUrl: textSetting({
    name: "BLOB_PUBLISHER_URL",
    default: "",
    group: GROUP,
    help: "Publisher that takes blobs over HTTP. Blobs are files in the data " +
      "folder when empty.",
  }),
  aggregatorUrls: listSetting({
    name: "BLOB_AGGREGATOR_URLS",
    default: [],
    group: GROUP,
    help: "Aggregators that give blobs over HTTP, asked one after the other " +
      "until one answers.",
  }),
  blobEpochs: integerSetting({
    name: "BLOB_EPOCHS",
    default: 5,
    min: 1,
    max: 1_000,
    group: GROUP,
    help: "Epochs that the publisher is asked to keep a blob for.",
  }),
  quotaBytes: integerSetting({
    name: "STORAGE_QUOTA_BYTES",
    default: 1_073_741_824,
    min: 1_024,
    group: GROUP,
    help: "Bytes of blobs that an owner may have; beyond it 402.",
  }),
  maxOpenJobs: integerSetting({
    name: "MAX_OPEN_JOBS",
    default: 100_000,
    min: 20,
    group: GROUP,
    help: "Unfinished jobs that an owner may have; beyond it 503.",
  }),
  jobMaxAttempts: integerSetting({
    name: "JOB_MAX_ATTEMPTS",
    default: 10,
    min: 1,
    max: 100,
    group: GROUP,
    help: "How often a job is begun, with waits that double from 2 seconds " +
      "to 5 minutes, until it is given up.",
  }),
  jobRetentionMs: durationSetting({
    name: "JOB_RETENTION",
    default: "168h",
    min: "1h",
    group: GROUP,
    help: "How long the status of a finished job can be asked for.",
  }),
  tombstoneRetentionMs: durationSetting({
    name: "TOMBSTONE_RETENTION",
    default: "720h",
    min: "1h",
    group: GROUP,
    help: "How long listings tell of deleted memories; older cursors have to " +
      "begin anew.",
  }),
};
