import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { root } from '../base/workspace.mjs'

/** Returns the rows of the table between `<!-- name -->` and `<!-- /name -->`; `npm run generate` (UPDATE_DOCS=1) writes the generated ones. */
export function tableIn(file: string, name: string, fromCode: string): string {
  const [open, close] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`]
  const text = readFileSync(join(root, file), 'utf8')
  const from = text.indexOf(open) + open.length
  const to = text.indexOf(close)
  expect(from > open.length - 1 && to >= from, `${file} has the marks of ${name}`).toBe(true)
  if (process.env.UPDATE_DOCS !== undefined)
    writeFileSync(join(root, file), `${text.slice(0, from)}${fromCode}${text.slice(to)}`)
  return process.env.UPDATE_DOCS === undefined ? text.slice(from, to) : fromCode
}
