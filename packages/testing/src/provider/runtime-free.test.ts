import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createFakeProvider } from '../index.ts'

it('imports Node modules only in `listen`, when it is called', () => {
  const folder = new URL('.', import.meta.url)
  const guilty = readdirSync(folder)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) =>
      /from 'node:|\bBuffer\b|\bprocess\./.test(withoutTypes(readFileSync(new URL(file, folder), 'utf8'))),
    )
  expect(guilty).toEqual([])
})

const withoutTypes = (source: string): string => source.replace(/^import type .*$/gm, '')

it('can be passed as a fetch function', async () => {
  const asFetch: typeof globalThis.fetch = createFakeProvider().fetch
  const response = await asFetch(new URL('http://fake.invalid/v1/models'), { headers: { authorization: 'Bearer k' } })
  expect(response.status).toBe(200)
})
