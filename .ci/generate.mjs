// `npm run generate`: writes every generated file: the tables and API reference of docs/, config.schema.json of the command and the list of
// exported names. The tests of these files check the same content.
import { spawnSync } from 'node:child_process'
import { root } from './workspace.mjs'

/** @param {string} command @param {string[]} args @param {Record<string, string>} [env] */
function run(command, args, env) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) process.exit(status ?? 1)
}

const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.workspace.ts', '--update']
const documents = ['.ci/conformance.test.ts', '.ci/docs.test.ts', '.ci/docs/api.test.ts', '.ci/structure.test.ts']

run('node', ['.ci/setup.mjs'])
run(
  'node',
  [
    ...vitest,
    '.ci/exported-names.test.ts',
    ...documents,
    'packages/cli/src/config/schema.test.ts',
    'packages/cli/src/document.test.ts',
  ],
  {
    UPDATE_DOCS: '1',
  },
)
run('npm', ['run', '--silent', 'format'])
