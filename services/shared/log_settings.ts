/**
 * Settings of what is logged, and how.
 *
 * @module
 */

import { choiceSetting } from "./settings.ts";

const GROUP = "Listener";

/** The settings, by the names that services know them under. */
export const logSettings = {
  logLevel: choiceSetting({
    name: "LOG_LEVEL",
    values: { debug: "debug", info: "info", warn: "warning", error: "error" },
    default: "info",
    group: GROUP,
    help: "The least severe messages that are logged.",
  }),
  logFormat: choiceSetting({
    name: "LOG_FORMAT",
    values: { text: "text", json: "json" },
    default: "text",
    group: GROUP,
    help: "How log lines are written.",
  }),
};
