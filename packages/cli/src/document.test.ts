import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { table } from '../../../.ci/markdown-table.ts'
import { envProviders } from './config/env-providers.ts'

const page = new URL('../../../docs/cli.md', import.meta.url)
const code = (text: string): string => `\`${text}\``

it('docs/cli.md lists the providers of the environment', () => {
  const rows = envProviders.map(
    ({ name, environment: { apiKey, baseURL, required = {}, models = [], otherModels } }) => [
      code(name),
      [apiKey.map(code).join(' or '), ...Object.values(required).map(([variable]) => `needs ${code(variable)}`)].join(
        '; ',
      ),
      'baseURL' in required ? '–' : code(baseURL),
      [...models, `${name}/*`, ...(otherModels === undefined ? [] : [otherModels])].map(code).join(', '),
    ],
  )
  const wanted = table(['upstream', 'key', 'another address', 'models'], ...rows)
  const [open, close] = ['<!-- environment -->\n', '<!-- /environment -->']
  const text = readFileSync(page, 'utf8')
  const from = text.indexOf(open) + open.length
  const to = text.indexOf(close)
  // `npm run generate` writes it.
  if (process.env.UPDATE_DOCS !== undefined) writeFileSync(page, text.slice(0, from) + wanted + text.slice(to))
  expect(readFileSync(page, 'utf8').slice(from, from + wanted.length)).toBe(wanted)
})
