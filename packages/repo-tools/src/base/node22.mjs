// Runs a group of tests on Node 22, for packages that do not support Node 20. On an older Node it uses the Node 22 that
// `npm run runtimes` has installed. Without one it reports that the tests are skipped.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const installedRuntimes = join(root, 'packages/conformance/node_modules/.cache/installed-runtimes')

/** @returns {string | undefined} a Node of at least version 22.19 */
function findNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath
  if (!existsSync(installedRuntimes)) return undefined
  const home = readdirSync(installedRuntimes).find((name) => /^node22-[\d.]+$/.test(name))
  if (home === undefined) return undefined
  const packages = join(installedRuntimes, home, 'node_modules')
  const names = readdirSync(packages).filter((name) => name.startsWith('node-'))
  const programs = names.flatMap((name) => ['bin/node', 'bin/node.exe'].map((file) => join(packages, name, file)))
  return programs.find((program) => existsSync(program))
}

/**
 * @param {string} subject what is tested, for the message
 * @param {string} config path of the Vitest configuration, from the root
 */
export function testOnNode22(subject, config) {
  const node = findNode()
  if (node === undefined) {
    console.log(
      `${subject}: tests skipped. They need Node 22.19 or newer, this is ${process.versions.node}: run 'npm run runtimes' first, which installs Node 22.`,
    )
    const { MODELGATE_COUNTS } = process.env
    if (MODELGATE_COUNTS !== undefined)
      writeFileSync(MODELGATE_COUNTS, JSON.stringify({ passed: 0, failed: 0, skipped: 1, failures: [], flaky: [] }))
    return
  }
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { status } = spawnSync(node, [vitest, 'run', '--config', join(root, config)], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
