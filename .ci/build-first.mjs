// A global set-up of vitest: tests that start examples or look at packages need the builds to be those of the sources.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export function setup() {
  if (process.env.MODELGATE_BUILT === '1') return
  execFileSync(process.execPath, [fileURLToPath(new URL('setup.mjs', import.meta.url))], { stdio: 'inherit' })
  // Whoever packs packages in these tests need not look again.
  process.env.MODELGATE_BUILT = '1'
}
