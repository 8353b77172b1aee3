// `npm run generate`: writes every generated file: the tables of docs/, config.schema.json of the command and the list of
// exported names. The tests of these files check the same content.
import { spawnSync } from 'node:child_process'
import { root } from '../base/workspace.mjs'

/** @param {string} command @param {string[]} args @param {Record<string, string>} [env] */
function run(command, args, env) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) process.exit(status ?? 1)
}

const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.workspace.ts']
const documents = [
  'packages/repo-tools/src/documentation/tables/conformance.test.ts',
  'packages/repo-tools/src/documentation/pages.test.ts',
  'packages/repo-tools/src/documentation/readme.test.ts',
  'packages/repo-tools/src/structure/structure.test.ts',
]

run('node', ['packages/repo-tools/src/setup/setup.mjs'])
run(
  'node',
  [
    ...vitest,
    'packages/repo-tools/src/checks/exported-names.test.ts',
    ...documents,
    'packages/cli/src/config/schema.test.ts',
    // Last, because vitest takes a following path as the value of this option.
    '--update',
  ],
  {
    UPDATE_DOCS: '1',
  },
)
run('npm', ['run', '--silent', 'format'])
