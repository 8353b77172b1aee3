import { allFamilies, formats } from '@modelgate/conformance/test-support'
import { readJson } from '../../base/workspace.mjs'
import { table } from '../markdown-table.ts'

/** Returns the table of the official clients that the suites run, with the number of their cases. */
export function clientTable(): string {
  const rows = allFamilies.map((family) => {
    const { version } = readJson(`packages/conformance/node_modules/${family.package}/package.json`)
    // The table must not change with each update of a package.
    const [major = ''] = version.split('.')
    return [family.name, `\`${family.package}\` ${major}`, `${family.cases.length} × ${formats.length}`]
  })
  return table(['client', 'package', 'cases × upstream formats'], ...rows)
}
