/**
 * The calls to push workers.
 *
 * @module
 */

import {
  booleanSetting,
  integerSetting,
  listSetting,
} from "../../shared/settings.ts";

const GROUP = "Push workers";

/** The settings of this group, by the name the service knows them under. */
export const pushSettings = {
  pushAllow: listSetting({
    name: "PUSH_ALLOW",
    default: [],
    group: GROUP,
    help:
      "Addresses, networks or hosts (host:port) that may be called though " +
      "they are not public, such as 127.0.0.1 or 10.0.0.0/8.",
  }),
  pushAllowHttp: booleanSetting({
    name: "PUSH_ALLOW_HTTP",
    default: false,
    group: GROUP,
    help: "Whether workers may be called without TLS.",
  }),
  pushMaxInFlight: integerSetting({
    name: "PUSH_MAX_IN_FLIGHT",
    default: 500,
    min: 1,
    max: 100_000,
    group: GROUP,
    help: "Calls at once, of all tenants; when they run short, each tenant " +
      "has an equal share.",
  }),
};
