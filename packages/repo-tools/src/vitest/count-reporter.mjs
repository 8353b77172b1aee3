// Counts tests for `.ci/run`: writes `{"passed":N,"failed":N,"skipped":N,"failures":["…"],"flaky":["…"]}` to the file
// that MODELGATE_COUNTS names, and nothing where it is unset. Prints nothing.
import { writeFileSync } from 'node:fs'

/** @typedef {import('vitest/node').Reporter} Reporter */

/** @param {unknown} error */
const firstLine = (error) =>
  String(/** @type {{ message?: unknown } | undefined} */ (error)?.message ?? error)
    .split('\n')[0]
    ?.slice(0, 300)

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
    /** @type {string[]} */
    const failures = unhandledErrors.map((error) => `unhandled error: ${firstLine(error)}`)
    /** @type {string[]} */
    const flaky = []
    for (const module of modules) {
      const broken = [module.errors(), ...Array.from(module.children.allSuites(), (suite) => suite.errors())].flat()
      counts.failed += broken.length
      for (const error of broken) failures.push(`${module.relativeModuleId}: ${firstLine(error)}`)
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result()
        if (test.diagnostic()?.flaky) flaky.push(`${module.relativeModuleId} > ${test.fullName}`)
        if (state === 'passed') counts.passed++
        else if (state === 'failed') {
          counts.failed++
          failures.push(`${module.relativeModuleId} > ${test.fullName}: ${firstLine(errors?.[0])}`)
        } else counts.skipped++
      }
    }
    if (reason === 'interrupted' || (reason === 'failed' && counts.failed === 0)) counts.failed++
    writeFileSync(file, JSON.stringify({ ...counts, failures, flaky }))
  }
}
