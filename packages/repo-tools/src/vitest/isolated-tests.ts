import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesBelow, root, workspaceDirs } from '../base/workspace.mjs'

/**
 * Finds files that need their own process. Mocked modules stay mocked for the whole process, and a module that holds a timer of a fake
 * clock waits forever. Files that get a fake clock from a helper import `play.ts`, `router-fixture.ts` or `runs.ts`. Other files state their
 * reason in a line that begins with `// Isolated:`. Test files undo all other changes of the process: see `check-worker-state.ts`.
 */
const needsIsolation =
  /\bvi\.(mock|doMock|unmock|doUnmock|resetModules|useFakeTimers)\(|from '[^']*\/(play|router-fixture|runs)\.ts'|^\/\/ Isolated: /m

/** Test files that run in their own process. */
export const isolatedTests: readonly string[] = workspaceDirs(['packages'])
  .filter((dir) => dir !== 'packages/repo-tools')
  .flatMap((dir) => filesBelow(`${dir}/src`))
  .filter((file) => file.endsWith('.test.ts') && needsIsolation.test(readFileSync(join(root, file), 'utf8')))
