/**
 * Reads the settings of the matrix from the environment of a runtime.
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {import('./gateways.js').Setting}
 */
export function settingFrom({ PROVIDERS = '', STAGE = '', LIVE = '', KEY = '', TOKEN = '' }) {
  return { providers: PROVIDERS, stage: STAGE, live: LIVE, key: KEY, token: TOKEN }
}
