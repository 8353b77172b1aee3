// Counts tests for `.ci/run`: writes `{"passed":N,"failed":N,"skipped":N}` to the file that MODELGATE_COUNTS names, and
// nothing where it is unset. Prints nothing.
import { writeFileSync } from 'node:fs'

/** @typedef {import('vitest/node').Reporter} Reporter */

/** @implements {Reporter} */
export default class CountReporter {
  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   * @param {string} reason
   */
  onTestRunEnd(modules, unhandledErrors, reason) {
    const file = process.env.MODELGATE_COUNTS
    if (file === undefined) return
    // Failures outside of tests count too: files that do not load, unhandled rejections.
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      let broken = module.errors().length
      for (const suite of module.children.allSuites()) broken += suite.errors().length
      counts.failed += broken
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') counts.passed++
        else if (state === 'failed') counts.failed++
        else counts.skipped++
      }
    }
    if (reason === 'interrupted' || (reason === 'failed' && counts.failed === 0)) counts.failed++
    writeFileSync(file, JSON.stringify(counts))
  }
}
