import { agentFamilies, type Mount, mounts } from '@modelgate/core/test-support'
import { table } from '../markdown-table.ts'

/**
 * Returns the table of paths that other vendors' clients use, with the paths of this page that they stand for. The version v1beta1 of Vertex
 * AI's paths, and its projects, are left out.
 */
export function familyTable(): string {
  const rows = new Map<string, { readonly family: string; readonly served: string; readonly paths: string[] }>()
  for (const mount of mounts) {
    const { family, prefix } = mount
    if (prefix.startsWith('/v1beta1/')) continue
    const served = servedPaths(mount).map(code).join(', ')
    const row = rows.get(`${family} ${served}`) ?? { family, served, paths: [] }
    row.paths.push(code(ownPath(mount)))
    rows.set(`${family} ${served}`, row)
  }
  return table(
    ['clients', 'paths', 'same as'],
    ...[...rows.values()].map(({ family, served, paths }) => [family, paths.join(', '), served]),
    ...agentFamilies.map(({ family, agents, paths }) => [
      family,
      paths.map(code).join(', '),
      `the same path, in ${family}'s form for clients whose \`user-agent\` begins with ${agents.map(code).join(' or ')}`,
    ]),
  )
}

const code = (path: string): string => `\`${path}\``

const ownPath = ({ prefix, paths }: Mount): string =>
  `${prefix}${paths?.length === 1 && paths[0] === '' ? '' : '/…'}`.replace(
    '/projects/{project}/locations/{location}',
    '/projects/…',
  )

const servedPaths = ({ serves, paths = ['/…'] }: Mount): readonly string[] =>
  paths.map((path) => `${serves}${path.endsWith(':') ? `${path}…` : path}`)
