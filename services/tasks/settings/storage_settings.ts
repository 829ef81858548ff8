/**
 * Where everything is kept.
 *
 * @module
 */

import {
  choiceSetting,
  integerSetting,
  secretSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Storage";

/** The settings of this group, by the name the service knows them under. */
export const storageSettings = {
  dataDir: textSetting({
    name: "DATA_DIR",
    default: "tasks-data",
    group: GROUP,
    help: "Folder of the database; made when it is not there.",
  }),
  durability: choiceSetting({
    name: "DURABILITY",
    values: { strict: "strict", relaxed: "relaxed" },
    default: "strict",
    group: GROUP,
    help: "strict: an answer to a write comes after it is on disk. relaxed: " +
      "a crash of the machine, not of the service, may lose the last moments.",
  }),
  maxQueuedWrites: integerSetting({
    name: "MAX_QUEUED_WRITES",
    default: 50_000,
    min: 100,
    group: GROUP,
    help: "Writes that may wait for the disk; beyond it 503. One tenant may " +
      "have half of them, and less beside others that do.",
  }),
  masterKeys: secretSetting({
    name: "MASTER_KEYS",
    default: "",
    group: GROUP,
    help: "Keys that wrap the tenants' keys: <id>:<base64 of 32 bytes>, " +
      "several with commas, the current one first.",
  }),
  masterKeysFile: textSetting({
    name: "MASTER_KEYS_FILE",
    default: "",
    group: GROUP,
    help: "File with such keys, one a line, in place of MASTER_KEYS. When " +
      "neither is set, a key is made in the data folder; none keeps no secrets.",
  }),
};
