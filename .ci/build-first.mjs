// A global set-up of vitest: tests that start examples or look at packages need the builds to be those of the sources.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export function setup() {
  execFileSync(process.execPath, [fileURLToPath(new URL('setup.mjs', import.meta.url))], { stdio: 'inherit' })
}
