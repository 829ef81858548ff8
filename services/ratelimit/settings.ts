/**
 * Every setting of the rate limit service.
 *
 * @module
 */

import type { SettingsValues } from "../shared/settings.ts";
import { altcacheSettings } from "./settings/altcache_settings.ts";
import { configurationSettings } from "./settings/configuration_settings.ts";
import { decisionSettings } from "./settings/decision_settings.ts";
import { kvstoreSettings } from "./settings/kvstore_settings.ts";
import { listenerSettings } from "./settings/listener_settings.ts";
import { perSecondSettings } from "./settings/per_second_settings.ts";
import { statisticsSettings } from "./settings/statistics_settings.ts";
import { storeSettings } from "./settings/store_settings.ts";

export { idleSettings } from "./settings/idle_settings.ts";
export {
  absentParts,
  unavailableSettings,
} from "./settings/unavailable_settings.ts";

/** The types of all settings. */
export type RateLimitSettingsTable =
  & typeof listenerSettings
  & typeof configurationSettings
  & typeof decisionSettings
  & typeof storeSettings
  & typeof kvstoreSettings
  & typeof perSecondSettings
  & typeof altcacheSettings
  & typeof statisticsSettings;

/** The settings, by the name the service knows them under. */
export const rateLimitSettings: RateLimitSettingsTable = {
  ...listenerSettings,
  ...configurationSettings,
  ...decisionSettings,
  ...storeSettings,
  ...kvstoreSettings,
  ...perSecondSettings,
  ...altcacheSettings,
  ...statisticsSettings,
};

/** The values of {@linkcode rateLimitSettings}. */
export type RateLimitSettings = SettingsValues<RateLimitSettingsTable>;
