/**
 * The settings of the candidate: rules that are compared with those in force
 * and decide nothing.
 *
 * @module
 */

import { integerOption, numberOption, textOption } from "../shared/options.ts";

const CANDIDATE = "Candidate";

/** The settings of the candidate. */
export const candidateSettings = {
  candidateDirectory: textOption({
    name: "CANDIDATE_CONFIG_DIR",
    default: "",
    group: CANDIDATE,
    help:
      "Directory whose *.yaml files are compared with the rules in force: " +
      "they see the same requests and decide nothing. Reloaded when they " +
      "change.",
  }),
  candidateShare: numberOption({
    name: "CANDIDATE_SHARE",
    default: 1,
    min: 0,
    max: 1,
    group: CANDIDATE,
    help:
      "Share of the candidate's counters that are compared; each sees all of " +
      "its hits or none.",
  }),
  candidateMaxInFlight: integerOption({
    name: "CANDIDATE_MAX_IN_FLIGHT",
    default: 1_000,
    min: 1,
    max: 100_000,
    group: CANDIDATE,
    help:
      "Maximum number of requests that wait for comparison; further ones are " +
      "not compared.",
  }),
} as const;
