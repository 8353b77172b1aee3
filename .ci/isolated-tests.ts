import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesBelow, root, workspaceDirs } from './workspace.mjs'

/**
 * Replaced modules stay replaced for the whole process, and modules that hold a timer of a fake clock wait for it for ever. A
 * file that gets its fake clock from a helper imports one of `play.ts`, `router-fixture.ts` and `runs.ts`. A file with another reason says so in a line that begins with
 * `// Isolated:`. Other changes of the process must be undone by the test file: see `shared-worker.ts`.
 */
const needsIsolation =
  /\bvi\.(mock|doMock|unmock|doUnmock|resetModules|useFakeTimers)\(|from '[^']*\/(play|router-fixture|runs)\.ts'|^\/\/ Isolated: /m

/** The test files of packages that need a process of their own. */
export const isolatedTests: readonly string[] = workspaceDirs(['packages'])
  .flatMap((dir) => filesBelow(`${dir}/src`))
  .filter((file) => file.endsWith('.test.ts') && needsIsolation.test(readFileSync(join(root, file), 'utf8')))
