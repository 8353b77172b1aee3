import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { makers } from './makers.ts'
import { configSchema } from './schema.ts'

const file = new URL('../../config.schema.json', import.meta.url)
const text = `${JSON.stringify(configSchema, null, 2)}\n`

it('is the file that is published', () => {
  // UPDATE_DOCS=1 writes it, as it does for the tables in docs; `npm run format` lays it out.
  if (process.env.UPDATE_DOCS !== undefined) writeFileSync(file, text)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(configSchema)
})

it('has every maker and every setting that JSON can say', () => {
  for (const maker of Object.keys(makers)) expect(text).toContain(`"const": "${maker}"`)
  const { properties } = configSchema as { properties: Record<string, unknown> }
  for (const code of ['tokens', 'tokenizer', 'plugins', 'health', 'spool', 'media', 'fetch'])
    expect(properties).not.toHaveProperty(code)
})
