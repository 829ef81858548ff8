/**
 * How decisions are made and told.
 *
 * @module
 */

import {
  booleanSetting,
  numberSetting,
  textSetting,
} from "../../shared/settings.ts";

const GROUP = "Decisions";

/** The settings of this group, by the name the service knows them under. */
export const decisionSettings = {
  shadowMode: booleanSetting({
    name: "SHADOW_MODE",
    default: false,
    group: GROUP,
    help: "Answer every request with OK; statuses and statistics still tell " +
      "the truth.",
  }),
  quotaMode: booleanSetting({
    name: "QUOTA_MODE",
    default: false,
    group: GROUP,
    help: "Refuse only when all descriptors of a request are over their limit.",
  }),
  nearLimitRatio: numberSetting({
    name: "NEAR_LIMIT_RATIO",
    default: 0.8,
    min: 0,
    max: 1,
    group: GROUP,
    help: "Share of a limit above which hits count as near it.",
  }),
  headersEnabled: booleanSetting({
    name: "LIMIT_RESPONSE_HEADERS_ENABLED",
    default: false,
    group: GROUP,
    help: "Add headers with the limit to answers.",
  }),
  limitHeader: textSetting({
    name: "LIMIT_LIMIT_HEADER",
    default: "RateLimit-Limit",
    group: GROUP,
    help: "Header for the limit.",
  }),
  remainingHeader: textSetting({
    name: "LIMIT_REMAINING_HEADER",
    default: "RateLimit-Remaining",
    group: GROUP,
    help: "Header for what remains.",
  }),
  resetHeader: textSetting({
    name: "LIMIT_RESET_HEADER",
    default: "RateLimit-Reset",
    group: GROUP,
    help: "Header for the seconds to the end of the window.",
  }),
  dynamicMetadata: booleanSetting({
    name: "RESPONSE_DYNAMIC_METADATA",
    default: false,
    group: GROUP,
    help: "Answers carry the request and the metadata of rules that passed.",
  }),
} as const;
