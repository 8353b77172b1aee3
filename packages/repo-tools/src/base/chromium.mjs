import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns the path of the system's Chromium: CHROMIUM_PATH, else the first on PATH, else undefined. */
export function findChromium() {
  const { CHROMIUM_PATH, PATH = '' } = process.env
  if (CHROMIUM_PATH) return CHROMIUM_PATH
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  return PATH.split(delimiter)
    .flatMap((dir) => names.map((name) => join(dir, name)))
    .find(isProgram)
}

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
