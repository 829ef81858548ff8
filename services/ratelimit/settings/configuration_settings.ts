/**
 * Where rules come from.
 *
 * @module
 */

import { booleanSetting, textSetting } from "../../shared/settings.ts";

const GROUP = "Configuration";

/** The settings of this group, by the name the service knows them under. */
export const configurationSettings = {
  runtimeRoot: textSetting({
    name: "RUNTIME_ROOT",
    default: "/srv/runtime_data/current",
    group: GROUP,
    help: "Root of the configuration files.",
  }),
  runtimeSubdirectory: textSetting({
    name: "RUNTIME_SUBDIRECTORY",
    default: "",
    group: GROUP,
    help: "Directory below the root.",
  }),
  runtimeAppDirectory: textSetting({
    name: "RUNTIME_APPDIRECTORY",
    default: "config",
    group: GROUP,
    help: "Directory below that one; its *.yaml files are read.",
  }),
  runtimeIgnoreDotFiles: booleanSetting({
    name: "RUNTIME_IGNOREDOTFILES",
    default: false,
    group: GROUP,
    help: "Leave out files whose name begins with a dot.",
  }),
  runtimeWatchRoot: booleanSetting({
    name: "RUNTIME_WATCH_ROOT",
    default: true,
    group: GROUP,
    help: "Reload when the root, a symbolic link, is swapped; false reloads " +
      "when the files themselves change.",
  }),
  mergeDomainConfig: booleanSetting({
    name: "MERGE_DOMAIN_CONFIG",
    default: false,
    group: GROUP,
    help: "Several files may hold rules of one domain.",
  }),
  forceStart: booleanSetting({
    name: "FORCE_START_WITHOUT_INITIAL_CONFIG",
    default: false,
    group: GROUP,
    help: "Open gRPC and HTTP at once instead of with the first valid " +
      "configuration.",
  }),
  healthyWithConfig: booleanSetting({
    name: "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED",
    default: false,
    group: GROUP,
    help: "Unhealthy while no domain is configured.",
  }),
} as const;
