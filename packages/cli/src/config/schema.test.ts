import { readFileSync, writeFileSync } from 'node:fs'
import { providerCatalog } from '@modelgate/core/catalog'
import { expect, it } from 'vitest'
import { configSchema } from './schema.ts'

const file = new URL('../../config.schema.json', import.meta.url)
const text = `${JSON.stringify(configSchema, null, 2)}\n`

it('equals the published file', () => {
  // `npm run generate` writes and formats it.
  if (process.env.UPDATE_DOCS !== undefined) writeFileSync(file, text)
  expect(JSON.parse(readFileSync(file, 'utf8')), 'out of date: run `npm run generate`').toEqual(configSchema)
})

it('contains every provider and every setting that JSON can express', () => {
  for (const name of Object.keys(providerCatalog)) expect(text).toContain(`"const": "${name}"`)
  const { properties } = configSchema as { properties: Record<string, unknown> }
  for (const code of ['tokens', 'tokenizer', 'plugins', 'health', 'spool', 'media', 'fetch', 'transport'])
    expect(properties).not.toHaveProperty(code)
})
