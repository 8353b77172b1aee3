import { envProviders } from 'modelgate/test-support'
import { table } from '../markdown-table.ts'

const code = (text: string): string => `\`${text}\``

/** Returns the table of providers that environment variables configure. */
export function environmentTable(): string {
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
  return table(['upstream', 'key', 'another address', 'models'], ...rows)
}
