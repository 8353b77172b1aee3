import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Check } from '../check.ts'

/** Suites that involve a server, sockets and streams. */
const suites = [
  'sdks/openai',
  'sdks/anthropic',
  'sdks/gemini',
  'sdks/responses',
  'protocols/http',
  'protocols/wire',
  'sdks/multipart',
  'protocols/realtime',
  'faults/disconnects',
  'faults/streams',
  'protocols/streams',
]

/** Loading and reloading of configuration files depends on how each Node loads modules. */
const configurationTests = 'packages/cli/src/config/load-file.test.ts'

/** Runs this repository's own server tests on another Node. */
export const tests: Check = {
  name: 'tests',
  promise: `this repository's tests on the given Node: ${suites.join(', ')}, and configuration reloads of the command`,
  async run({ pin, program, root }) {
    if (pin.program !== 'on-node.js') return { without: 'vitest' }
    const folder = mkdtempSync(join(tmpdir(), 'modelgate-tests-'))
    const counts = join(folder, 'counts.json')
    try {
      const files = suites.map((name) => `packages/conformance/src/${name}.test.ts`)
      const arguments_ = [
        'run',
        '--no-file-parallelism',
        '--config',
        'vitest.workspace.ts',
        '--project',
        'conformance',
        '--project',
        'unit',
        ...files,
        configurationTests,
      ]
      const child = spawn(program, [join(root, 'node_modules/vitest/vitest.mjs'), ...arguments_], {
        cwd: root,
        env: { ...process.env, MODELGATE_COUNTS: counts, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let failures = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          failures = (failures + text).slice(-1_000_000)
        })
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject)
        child.once('close', resolve)
      })
      const named = failures.split('\n').filter((line) => / FAIL /.test(line))
      const { passed, failed } = JSON.parse(readFileSync(counts, 'utf8')) as { passed: number; failed: number }
      // A failed run counts as at least one failure.
      const wrong = code === 0 ? failed : Math.max(failed, 1)
      return { held: passed, total: passed + wrong, complaints: named }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
