/**
 * Every setting of the relayer.
 *
 * @module
 */

import type { SettingsValues } from "../shared/settings.ts";
import { accessSettings } from "./settings/access_settings.ts";
import { listenerSettings } from "./settings/listener_settings.ts";
import { modelSettings } from "./settings/model_settings.ts";
import { storageSettings } from "./settings/storage_settings.ts";

/** The types of all settings. */
export type RelayerSettingsTable =
  & typeof listenerSettings
  & typeof storageSettings
  & typeof accessSettings
  & typeof modelSettings;

/** The settings, by the name the service knows them under. */
export const relayerSettings: RelayerSettingsTable = {
  ...listenerSettings,
  ...storageSettings,
  ...accessSettings,
  ...modelSettings,
};

/** The values of {@linkcode relayerSettings}. */
export type RelayerSettings = SettingsValues<RelayerSettingsTable>;
