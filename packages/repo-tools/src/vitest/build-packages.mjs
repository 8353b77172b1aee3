// Global set-up of vitest: builds stale packages, because tests start examples and inspect builds.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export function setup() {
  if (process.env.MODELGATE_BUILT === '1') return
  execFileSync(process.execPath, [fileURLToPath(new URL('../setup/setup.mjs', import.meta.url))], { stdio: 'inherit' })
  // Tests that pack packages need not check again.
  process.env.MODELGATE_BUILT = '1'
}
